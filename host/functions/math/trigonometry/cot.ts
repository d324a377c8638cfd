import { defineFunction } from '../../define.js';

/**
 * @example
 * {"x":0.5} => 1.830487721712452
 */
export default defineFunction({
  name: 'cot',
  category: 'math',
  args: [{ name: 'x', type: 'number' }],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Cotangent of an angle in radians; of 0 an error.',
  example: 'cot(x)',
  op: 'math.cot',
});
