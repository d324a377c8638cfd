import { defineFunction } from '../../define.js';

export default defineFunction({
  name: 'cos',
  category: 'math',
  args: [{ name: 'x', type: 'number' }],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Cosine of an angle in radians.',
  example: 'cos(x)',
  op: 'math.cos',
});
