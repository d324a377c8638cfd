import { defineFunction } from '../define.js';

/**
 * @example
 * {"y":8} => 3
 */
export default defineFunction({
  name: 'log',
  category: 'math',
  args: [
    { name: 'x', type: 'number' },
    { name: 'y', type: 'number', optional: true },
  ],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Decimal logarithm of x; with two arguments the logarithm of y to the base x.',
  example: 'log(2, y)',
  op: 'math.log',
});
