import { defineFunction } from '../../define.js';

export default defineFunction({
  name: 'acos',
  category: 'math',
  args: [{ name: 'x', type: 'number' }],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Arc cosine in radians; null outside -1 to 1.',
  example: 'acos(x)',
  op: 'math.acos',
});
