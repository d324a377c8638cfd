import { defineFunction } from '../define.js';

/**
 * @example
 * {"x":9} => 3
 */
export default defineFunction({
  name: 'sqrt',
  category: 'math',
  args: [{ name: 'x', type: 'number' }],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Square root; of a negative number an error.',
  example: 'sqrt(x)',
  op: 'math.sqrt',
});
