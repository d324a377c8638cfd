import { defineFunction } from '../../define.js';

export default defineFunction({
  name: 'asin',
  category: 'math',
  args: [{ name: 'x', type: 'number' }],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Arc sine in radians; null outside -1 to 1.',
  example: 'asin(x)',
  op: 'math.asin',
});
