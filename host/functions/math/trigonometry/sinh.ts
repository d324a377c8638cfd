import { defineFunction } from '../../define.js';

/**
 * @example
 * {"x":0} => 0
 */
export default defineFunction({
  name: 'sinh',
  category: 'math',
  args: [{ name: 'x', type: 'number' }],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Hyperbolic sine.',
  example: 'sinh(x)',
  op: 'math.sinh',
});
