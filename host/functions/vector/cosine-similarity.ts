import { defineFunction } from '../define.js';

/**
 * @example
 * each round(cosine_similarity(list, [0.1, 0.4]), 3)
 * {"list":[0.2,0.8]} => 1
 * {"list":[-0.4,0.1]} => 0
 */
export default defineFunction({
  name: 'cosine_similarity',
  category: 'vector',
  args: [
    { name: 'first', type: 'any' },
    { name: 'second', type: 'any' },
  ],
  returns: 'float',
  nulls: 'propagate',
  doc:
    'Cosine of the angle between two vectors (lists of numbers of the same length): 1 for the same direction, 0 ' +
    'for a right angle, -1 for the opposite direction. Null when one has only zeros, or when they are no such ' +
    'lists.',
  example: 'cosine_similarity(list, [0.1, 0.4])',
  op: 'vector.cosine',
});
