import { defineFunction } from '../define.js';

/**
 * @example
 * {"list":[3,4]} => 11
 */
export default defineFunction({
  name: 'vector_dot',
  category: 'vector',
  args: [
    { name: 'first', type: 'any' },
    { name: 'second', type: 'any' },
  ],
  returns: 'float',
  nulls: 'propagate',
  doc:
    'Sum of the products of the elements of two vectors (lists of numbers of the same length); null when they are ' +
    'no such lists.',
  example: 'vector_dot(list, [1, 2])',
  op: 'vector.dot',
});
