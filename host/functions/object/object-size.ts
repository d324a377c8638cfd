import { defineFunction } from '../define.js';

/**
 * @example
 * {"object":{"a":1,"b":2}} => 2
 */
export default defineFunction({
  name: 'object_size',
  category: 'object',
  args: [{ name: 'object', type: 'any', takes: ['struct'] }],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Number of members of the object, 0 for null.',
  example: 'object_size(object)',
  op: 'object.size',
});
