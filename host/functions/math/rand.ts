import { defineFunction, perRow } from '../define.js';

/**
 * @example
 * each rand() >= 0 AND rand() < 1
 * {} => true
 */
export default defineFunction({
  name: 'rand',
  isVolatile: true,
  category: 'math',
  args: [],
  returns: 'float',
  nulls: 'handles',
  doc: 'A random number, at least 0 and less than 1.',
  example: 'rand()',
  call: perRow('handles', () => Math.random()),
});
