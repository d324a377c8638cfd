import { defineFunction } from '../define.js';

/**
 * @example
 * {"list":[1,null,3]} => 3
 */
export default defineFunction({
  name: 'cardinality',
  category: 'array',
  args: [{ name: 'list', type: 'any' }],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Number of elements of the list; 0 for anything else.',
  example: 'cardinality(list)',
  op: 'list.size',
});
