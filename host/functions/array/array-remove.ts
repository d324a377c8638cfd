import { defineFunction } from '../define.js';

/**
 * @example
 * {"list":[3,1,3]} => [1]
 */
export default defineFunction({
  name: 'array_remove',
  category: 'array',
  args: [
    { name: 'list', type: 'any', takes: ['array'] },
    { name: 'value', type: 'any' },
  ],
  returns: 'array',
  nulls: 'handles',
  doc: 'The list without the elements that equal the value.',
  example: 'array_remove(list, 3)',
  op: 'list.remove',
});
