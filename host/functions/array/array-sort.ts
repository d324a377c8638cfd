import { defineFunction } from '../define.js';

/**
 * @example
 * {"list":[3,1,2]} => [1,2,3]
 */
export default defineFunction({
  name: 'array_sort',
  category: 'array',
  args: [{ name: 'list', type: 'any', takes: ['array'] }],
  returns: 'array',
  nulls: 'propagate',
  doc:
    'The elements in ascending order: numbers, booleans, texts, datetimes, bytes, then lists and objects as they ' +
    'stand, then nulls.',
  example: 'array_sort(list)',
  op: 'list.sort',
});
