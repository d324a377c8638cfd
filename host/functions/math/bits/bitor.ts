import { defineFunction } from '../../define.js';

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
