import { defineFunction } from '../define.js';

/**
 * @example
 * {"object":{"a":1,"b":2}} => [{"key":"a","value":1},{"key":"b","value":2}]
 */
export default defineFunction({
  name: 'obj_to_kvpair_array',
  category: 'object',
  args: [{ name: 'object', type: 'any', takes: ['struct'] }],
  returns: 'array',
  nulls: 'propagate',
  doc: 'The members of the object as objects with key and value.',
  example: 'obj_to_kvpair_array(object)',
  op: 'object.pairs',
});
