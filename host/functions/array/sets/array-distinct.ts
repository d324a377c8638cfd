import { defineFunction } from '../../define.js';

/**
 * @example
 * {"list":[1,2,1]} => [1,2]
 */
export default defineFunction({
  name: 'array_distinct',
  category: 'array',
  args: [{ name: 'list', type: 'any', takes: ['array'] }],
  returns: 'array',
  nulls: 'propagate',
  doc: 'The list without repeated elements; lists and objects in it all stay.',
  example: 'array_distinct(list)',
  op: 'list.distinct',
});
