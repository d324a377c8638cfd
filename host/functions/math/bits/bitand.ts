import { defineFunction } from '../../define.js';

/**
 * @example
 * {"x":6,"y":3} => 2
 */
export default defineFunction({
  name: 'bitand',
  category: 'math',
  args: [
    { name: 'x', type: 'int' },
    { name: 'y', type: 'int' },
  ],
  returns: 'bigint',
  nulls: 'propagate',
  doc: 'Bitwise and of two whole numbers.',
  example: 'bitand(x, y)',
  op: 'math.bitAnd',
});
