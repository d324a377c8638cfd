import { constants } from 'node:buffer';
import { decompressed } from '../compression.js';
import { defineFunction, perRow } from '../define.js';

/**
 * @example
 * each cast(decompress(decode(data, "base64"), 'gzip'), "string")
 * {"data":"H4sIAAAAAAAAA8tIzcnJBwCGphA2BQAAAA=="} => "hello"
 */
export default defineFunction({
  name: 'decompress',
  category: 'conversion',
  args: [
    { name: 'data', type: 'string' },
    { name: 'method', type: 'string' },
  ],
  returns: 'bytea',
  nulls: 'propagate',
  doc: 'The bytes that were compressed by the method: zlib, gzip, flate or zstd.',
  example: "decompress(data, 'gzip')",
  call: (columns) => {
    const { longest = constants.MAX_LENGTH } = columns;
    perRow('propagate', (data, method) => decompressed(data, method, longest))(columns);
  },
});
