import { compressed } from '../compression.js';
import { defineFunction, perRow } from '../define.js';

/**
 * @example
 * each cast(decompress(compress(text, 'gzip'), 'gzip'), "string")
 * {"text":"hello"} => "hello"
 */
export default defineFunction({
  name: 'compress',
  category: 'conversion',
  args: [
    { name: 'data', type: 'string', takes: ['string', 'bytea'] },
    { name: 'method', type: 'string', takes: ['string'] },
  ],
  returns: 'bytea',
  nulls: 'propagate',
  doc: 'The text or bytes compressed by the method: zlib, gzip, flate or zstd.',
  example: "compress(text, 'gzip')",
  call: perRow('propagate', (data, method) => compressed(data, method)),
});
