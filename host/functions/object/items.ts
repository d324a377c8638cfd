import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'items',
  category: 'object',
  args: [{ name: 'object', type: 'any', takes: ['struct'] }],
  returns: 'array',
  nulls: 'propagate',
  doc: 'The members of the object as lists of name and value.',
  example: 'items(object)',
  op: 'object.items',
});
