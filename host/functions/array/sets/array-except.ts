import { defineFunction } from '../../define.js';

/**
 * @example
 * {"list":[1,2,3],"other":[2]} => [1,3]
 */
export default defineFunction({
  name: 'array_except',
  category: 'array',
  args: [
    { name: 'list', type: 'any', takes: ['array'] },
    { name: 'other', type: 'any', takes: ['array'] },
  ],
  returns: 'array',
  nulls: 'handles',
  doc: 'The different elements of the first list that are not in the second.',
  example: 'array_except(list, other)',
  op: 'list.except',
});
