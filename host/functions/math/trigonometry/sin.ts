import { defineFunction } from '../../define.js';

/**
 * @example
 * {"x":0} => 0
 */
export default defineFunction({
  name: 'sin',
  category: 'math',
  args: [{ name: 'x', type: 'number' }],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Sine of an angle in radians.',
  example: 'sin(x)',
  op: 'math.sin',
});
