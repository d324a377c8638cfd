import { defineFunction } from '../define.js';

/**
 * @example
 * {} => 31
 */
export default defineFunction({
  name: 'hex2dec',
  category: 'conversion',
  args: [{ name: 'digits', type: 'string', takes: ['string'] }],
  returns: 'bigint',
  nulls: 'propagate',
  doc: 'The integer that the hexadecimal digits stand for; 0x before them is allowed.',
  example: "hex2dec('0x1f')",
  op: 'convert.fromHex',
});
