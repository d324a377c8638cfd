import { defineFunction } from '../../define.js';

/**
 * @example
 * {"x":1} => 1.5707963267948966
 */
export default defineFunction({
  name: 'asin',
  category: 'math',
  args: [{ name: 'x', type: 'number' }],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Arc sine in radians; null outside -1 to 1.',
  example: 'asin(x)',
  op: 'math.asin',
});
