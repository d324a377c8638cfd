import { defineFunction } from '../../define.js';

export default defineFunction({
  name: 'pi',
  category: 'math',
  args: [],
  returns: 'float',
  nulls: 'handles',
  doc: 'The number pi.',
  example: 'pi()',
  op: 'math.pi',
});
