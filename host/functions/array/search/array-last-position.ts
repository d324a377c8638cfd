import { defineFunction } from '../../define.js';

/**
 * @example
 * {"list":[3,1,3]} => 2
 * {"list":[1,2]} => -1
 */
export default defineFunction({
  name: 'array_last_position',
  category: 'array',
  args: [
    { name: 'list', type: 'any', takes: ['array'] },
    { name: 'value', type: 'any' },
  ],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Index of the last element that equals the value, -1 when there is none.',
  example: 'array_last_position(list, 3)',
  op: 'list.lastPosition',
});
