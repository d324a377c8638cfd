import { defineFunction } from '../../define.js';

/**
 * @example
 * {"x":6,"y":3} => 7
 */
export default defineFunction({
  name: 'bitor',
  category: 'math',
  args: [
    { name: 'x', type: 'int' },
    { name: 'y', type: 'int' },
  ],
  returns: 'bigint',
  nulls: 'propagate',
  doc: 'Bitwise or of two whole numbers.',
  example: 'bitor(x, y)',
  op: 'math.bitOr',
});
