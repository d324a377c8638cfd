import { defineFunction } from '../../define.js';

/**
 * @example
 * {"x":1.2} => 2
 */
export default defineFunction({
  name: 'ceil',
  aliases: ['ceiling'],
  category: 'math',
  args: [{ name: 'x', type: 'number' }],
  returns: 'float',
  nulls: 'propagate',
  doc: 'Smallest whole number that is not below the argument.',
  example: 'ceil(x)',
  op: 'math.ceil',
});
