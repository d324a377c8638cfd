import { defineFunction } from '../define.js';

/**
 * @example
 * {"x":1} => 0
 */
export default defineFunction({
  name: 'ln',
  category: 'math',
  args: [{ name: 'x', type: 'number' }],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Natural logarithm; of a negative number an error.',
  example: 'ln(x)',
  op: 'math.ln',
});
