import { defineFunction } from '../../define.js';

/**
 * @example
 * {"x":1} => 0.7853981633974483
 */
export default defineFunction({
  name: 'atan',
  category: 'math',
  args: [{ name: 'x', type: 'number' }],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Arc tangent in radians.',
  example: 'atan(x)',
  op: 'math.atan',
});
