import { defineFunction } from '../define.js';

/**
 * @example
 * {"x":-2.5} => 2.5
 */
export default defineFunction({
  name: 'abs',
  category: 'math',
  args: [{ name: 'x', type: 'number' }],
  returns: 'number',
  nulls: 'propagate',
  doc: 'Absolute value; of an integer an integer.',
  example: 'abs(x)',
  op: 'math.abs',
});
