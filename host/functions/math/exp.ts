import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'exp',
  category: 'math',
  args: [{ name: 'x', type: 'number' }],
  returns: 'float',
  nulls: 'propagate',
  doc: 'e to the power of the argument.',
  example: 'exp(x)',
  op: 'math.exp',
});
