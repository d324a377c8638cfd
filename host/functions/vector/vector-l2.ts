import { defineFunction } from '../define.js';

/**
 * @example
 * {"list":[4,6]} => 5
 */
export default defineFunction({
  name: 'vector_l2',
  category: 'vector',
  args: [
    { name: 'first', type: 'any' },
    { name: 'second', type: 'any' },
  ],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Euclidean distance of two vectors (lists of numbers of the same length); null when they are no such lists.',
  example: 'vector_l2(list, [1, 2])',
  op: 'vector.distance',
});
