import { defineFunction } from '../../define.js';

/**
 * @example
 * {"x":180} => 3.141592653589793
 */
export default defineFunction({
  name: 'radians',
  category: 'math',
  args: [{ name: 'x', type: 'number' }],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Degrees as radians.',
  example: 'radians(x)',
  op: 'math.radians',
});
