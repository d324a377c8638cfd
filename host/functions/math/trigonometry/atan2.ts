import { defineFunction } from '../../define.js';

/**
 * @example
 * {"y":1,"x":0} => 1.5707963267948966
 */
export default defineFunction({
  name: 'atan2',
  category: 'math',
  args: [
    { name: 'y', type: 'number' },
    { name: 'x', type: 'number' },
  ],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Angle of the point (x, y) in radians.',
  example: 'atan2(y, x)',
  op: 'math.atan2',
});
