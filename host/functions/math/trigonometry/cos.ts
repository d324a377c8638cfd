import { defineFunction } from '../../define.js';

/**
 * @example
 * {"x":0} => 1
 */
export default defineFunction({
  name: 'cos',
  category: 'math',
  args: [{ name: 'x', type: 'number' }],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Cosine of an angle in radians.',
  example: 'cos(x)',
  op: 'math.cos',
});
