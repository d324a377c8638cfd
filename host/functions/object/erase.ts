import { defineFunction } from '../define.js';

/**
 * @example
 * {"object":{"a":1,"b":2}} => {"b":2}
 */
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
