import { defineFunction } from '../../define.js';

/**
 * @example
 * {"x":3.141592653589793} => 180
 */
export default defineFunction({
  name: 'degrees',
  category: 'math',
  args: [{ name: 'x', type: 'number' }],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Radians as degrees.',
  example: 'degrees(x)',
  op: 'math.degrees',
});
