import { defineFunction } from '../../define.js';

/**
 * @example
 * {"list":[3,1,3]} => [0,2]
 */
export default defineFunction({
  name: 'array_positions',
  category: 'array',
  args: [
    { name: 'list', type: 'any', takes: ['array'] },
    { name: 'value', type: 'any' },
  ],
  returns: 'array',
  nulls: 'handles',
  doc: 'Indexes of all elements that equal the value; an empty list when there are none.',
  example: 'array_positions(list, 3)',
  op: 'list.positions',
});
