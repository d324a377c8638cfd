import { defineFunction } from '../define.js';

/**
 * @example
 * {"x":-2.5} => -1
 */
export default defineFunction({
  name: 'sign',
  category: 'math',
  args: [{ name: 'x', type: 'number' }],
  returns: 'bigint',
  nulls: 'propagate',
  doc: '-1, 0 or 1 by the sign of the number.',
  example: 'sign(x)',
  op: 'math.sign',
});
