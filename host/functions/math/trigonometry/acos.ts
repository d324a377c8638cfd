import { defineFunction } from '../../define.js';

/**
 * @example
 * {"x":1} => 0
 * {"x":2} => none
 */
export default defineFunction({
  name: 'acos',
  category: 'math',
  args: [{ name: 'x', type: 'number' }],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Arc cosine in radians; null outside -1 to 1.',
  example: 'acos(x)',
  op: 'math.acos',
});
