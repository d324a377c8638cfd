import { defineFunction } from '../../define.js';

/**
 * @example
 * {"x":1.7} => 1
 */
export default defineFunction({
  name: 'floor',
  category: 'math',
  args: [{ name: 'x', type: 'number' }],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Largest whole number that is not above the argument.',
  example: 'floor(x)',
  op: 'math.floor',
});
