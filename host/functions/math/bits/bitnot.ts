import { defineFunction } from '../../define.js';

/**
 * @example
 * {"x":5} => -6
 */
export default defineFunction({
  name: 'bitnot',
  category: 'math',
  args: [{ name: 'x', type: 'int' }],
  returns: 'bigint',
  nulls: 'propagate',
  doc: 'Bitwise complement of a whole number.',
  example: 'bitnot(x)',
  op: 'math.bitNot',
});
