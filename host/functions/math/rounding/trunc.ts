import { defineFunction } from '../../define.js';

/**
 * @example
 * {"x":1.239} => 1.23
 */
export default defineFunction({
  name: 'trunc',
  category: 'math',
  args: [
    { name: 'x', type: 'number' },
    { name: 'places', type: 'int' },
  ],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Cuts off after the places given.',
  example: 'trunc(x, 2)',
  op: 'math.trunc',
});
