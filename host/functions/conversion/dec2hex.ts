import { defineFunction } from '../define.js';

/**
 * @example
 * {} => "0x1f"
 */
export default defineFunction({
  name: 'dec2hex',
  category: 'conversion',
  args: [{ name: 'number', type: 'int' }],
  returns: 'string',
  nulls: 'propagate',
  doc: 'The whole number in hexadecimal digits after 0x.',
  example: 'dec2hex(31)',
  op: 'convert.toHex',
});
