import { defineFunction } from '../../define.js';

/**
 * @example
 * {"x":6,"y":3} => 5
 */
export default defineFunction({
  name: 'bitxor',
  category: 'math',
  args: [
    { name: 'x', type: 'int' },
    { name: 'y', type: 'int' },
  ],
  returns: 'bigint',
  nulls: 'propagate',
  doc: 'Bitwise exclusive or of two whole numbers.',
  example: 'bitxor(x, y)',
  op: 'math.bitXor',
});
