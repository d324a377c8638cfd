import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'sqrt',
  category: 'math',
  args: [{ name: 'x', type: 'number' }],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Square root; of a negative number an error.',
  example: 'sqrt(x)',
  op: 'math.sqrt',
});
