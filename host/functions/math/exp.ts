import { defineFunction } from '../define.js';

/**
 * @example
 * {"x":1} => 2.718281828459045
 */
export default defineFunction({
  name: 'exp',
  category: 'math',
  args: [{ name: 'x', type: 'number' }],
  returns: 'float',
  nulls: 'propagate',
  doc: 'e to the power of the argument.',
  example: 'exp(x)',
  op: 'math.exp',
});
