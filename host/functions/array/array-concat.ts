import { defineFunction } from '../define.js';

/**
 * @example
 * {"list":[1,2],"other":[2,3]} => [1,2,2,3]
 */
export default defineFunction({
  name: 'array_concat',
  category: 'array',
  args: [{ name: 'list', type: 'any', takes: ['array'], variadic: true }],
  returns: 'array',
  nulls: 'handles',
  doc: 'The elements of all lists one after the other; null lists are skipped, null when there are no others.',
  example: 'array_concat(list, other)',
  op: 'list.concat',
});
