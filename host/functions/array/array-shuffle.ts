import { defineFunction } from '../define.js';

/**
 * @example
 * each array_sort(array_shuffle(list))
 * {"list":[3,1,2]} => [1,2,3]
 */
export default defineFunction({
  name: 'array_shuffle',
  isVolatile: true,
  category: 'array',
  args: [{ name: 'list', type: 'any', takes: ['array'] }],
  returns: 'array',
  nulls: 'propagate',
  doc: 'The elements in random order; another one for each row.',
  example: 'array_shuffle(list)',
  op: 'list.shuffle',
});
