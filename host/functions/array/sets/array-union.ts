import { defineFunction } from '../../define.js';

/**
 * @example
 * {"list":[1,2],"other":[2,3]} => [1,2,3]
 */
export default defineFunction({
  name: 'array_union',
  category: 'array',
  args: [
    { name: 'list', type: 'any', takes: ['array'] },
    { name: 'other', type: 'any', takes: ['array'] },
  ],
  returns: 'array',
  nulls: 'handles',
  doc: 'The different elements of both lists.',
  example: 'array_union(list, other)',
  op: 'list.union',
});
