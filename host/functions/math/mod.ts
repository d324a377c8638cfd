import { defineFunction } from '../define.js';

/**
 * @example
 * {"x":7} => 1
 * {"x":-7} => -1
 */
export default defineFunction({
  name: 'mod',
  category: 'math',
  args: [
    { name: 'x', type: 'number' },
    { name: 'y', type: 'number' },
  ],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Remainder of x / y with the sign of x; by zero an error.',
  example: 'mod(x, 3)',
  op: 'math.mod',
});
