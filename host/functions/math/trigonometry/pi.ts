import { defineFunction } from '../../define.js';

/**
 * @example
 * {} => 3.141592653589793
 */
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
