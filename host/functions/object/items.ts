import { defineFunction } from '../define.js';

/**
 * @example
 * {"object":{"a":1,"b":2}} => [["a",1],["b",2]]
 */
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
