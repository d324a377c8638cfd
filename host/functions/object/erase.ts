import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'erase',
  category: 'object',
  args: [
    { name: 'object', type: 'any', takes: ['struct'] },
    { name: 'names', type: 'any' },
  ],
  returns: 'struct',
  nulls: 'propagate',
  doc: 'The object without the named member or members.',
  example: 'erase(object, "a")',
  op: 'object.erase',
});
