import { defineFunction } from '../define.js';

/**
 * @example
 * {"text":"hello"} => "3610a686"
 */
export default defineFunction({
  name: 'crc32',
  category: 'hash',
  args: [{ name: 'text', type: 'string' }],
  returns: 'string',
  nulls: 'propagate',
  doc: 'CRC-32 (IEEE) of the text as lower-case hexadecimal digits without leading zeros.',
  example: 'crc32(text)',
  op: 'convert.crc32',
});
