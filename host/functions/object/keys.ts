import { defineFunction } from '../define.js';

/**
 * @example
 * {"object":{"a":1,"b":2}} => ["a","b"]
 */
export default defineFunction({
  name: 'keys',
  category: 'object',
  args: [{ name: 'object', type: 'any', takes: ['struct'] }],
  returns: 'array',
  nulls: 'propagate',
  doc: 'Names of the members of the object.',
  example: 'keys(object)',
  op: 'object.keys',
});
