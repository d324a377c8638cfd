import { defineFunction } from '../../define.js';

/**
 * @example
 * {"list":[1,3,3]} => 1
 * {"list":[1,2]} => -1
 */
export default defineFunction({
  name: 'array_position',
  category: 'array',
  args: [
    { name: 'list', type: 'any', takes: ['array'] },
    { name: 'value', type: 'any' },
  ],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Index of the first element that equals the value, -1 when there is none.',
  example: 'array_position(list, 3)',
  op: 'list.position',
});
