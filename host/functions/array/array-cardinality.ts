import { defineFunction } from '../define.js';

/**
 * @example
 * {"list":[1,null,3]} => 2
 */
export default defineFunction({
  name: 'array_cardinality',
  category: 'array',
  args: [{ name: 'list', type: 'any', takes: ['array'] }],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Number of elements of the list that are not null.',
  example: 'array_cardinality(list)',
  op: 'list.count',
});
