import { defineFunction } from '../../define.js';

/**
 * @example
 * {"x":0} => 0
 */
export default defineFunction({
  name: 'tan',
  category: 'math',
  args: [{ name: 'x', type: 'number' }],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Tangent of an angle in radians.',
  example: 'tan(x)',
  op: 'math.tan',
});
