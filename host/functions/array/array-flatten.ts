import { defineFunction } from '../define.js';

/**
 * @example
 * {} => [1,4,2,3]
 */
export default defineFunction({
  name: 'array_flatten',
  category: 'array',
  args: [{ name: 'list', type: 'any', takes: ['array'] }],
  returns: 'array',
  nulls: 'propagate',
  doc: 'The list with the elements of the lists in it in their place; lists in those stay.',
  example: 'array_flatten([[1, 4], [2, 3]])',
  op: 'list.flatten',
});
