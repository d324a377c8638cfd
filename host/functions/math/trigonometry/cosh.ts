import { defineFunction } from '../../define.js';

/**
 * @example
 * {"x":0} => 1
 */
export default defineFunction({
  name: 'cosh',
  category: 'math',
  args: [{ name: 'x', type: 'number' }],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Hyperbolic cosine.',
  example: 'cosh(x)',
  op: 'math.cosh',
});
