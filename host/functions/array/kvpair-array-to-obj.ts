import { defineFunction } from '../define.js';

/**
 * @example
 * {"list":[{"key":"a","value":1},{"key":"b","value":2}]} => {"a":1,"b":2}
 */
export default defineFunction({
  name: 'kvpair_array_to_obj',
  category: 'array',
  args: [{ name: 'list', type: 'any' }],
  returns: 'struct',
  nulls: 'propagate',
  doc: 'Object of a list of objects with key (a text) and value; of equal keys the last counts.',
  example: 'kvpair_array_to_obj(list)',
  op: 'object.fromPairs',
});
