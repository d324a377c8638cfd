import { defineFunction } from '../define.js';

/**
 * @example
 * {"x":3} => 9
 */
export default defineFunction({
  name: 'power',
  aliases: ['pow'],
  category: 'math',
  args: [
    { name: 'x', type: 'number' },
    { name: 'y', type: 'number' },
  ],
  returns: 'float',
  nulls: 'propagate',
  doc: 'x to the power of y.',
  example: 'power(x, 2)',
  op: 'math.power',
});
