import { defineFunction } from '../../define.js';

/**
 * @example
 * {"list":[1,2,3],"other":[2,3,4]} => [2,3]
 */
export default defineFunction({
  name: 'array_intersect',
  category: 'array',
  args: [
    { name: 'list', type: 'any', takes: ['array'] },
    { name: 'other', type: 'any', takes: ['array'] },
  ],
  returns: 'array',
  nulls: 'propagate',
  doc: 'The different elements of the second list that are in the first, too.',
  example: 'array_intersect(list, other)',
  op: 'list.intersect',
});
