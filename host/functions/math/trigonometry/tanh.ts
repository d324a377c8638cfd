import { defineFunction } from '../../define.js';

/**
 * @example
 * {"x":0} => 0
 */
export default defineFunction({
  name: 'tanh',
  category: 'math',
  args: [{ name: 'x', type: 'number' }],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Hyperbolic tangent.',
  example: 'tanh(x)',
  op: 'math.tanh',
});
