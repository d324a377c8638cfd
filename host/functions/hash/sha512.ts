import { createHash } from 'node:crypto';
import { defineFunction, perRow } from '../define.js';
import { printed } from '../printing/printed.js';

/**
 * @example
 * each substring(sha512(text), 0, 32)
 * {"text":"hello"} => "9b71d224bd62f3785d96d46ad3ea3d73"
 */
export default defineFunction({
  name: 'sha512',
  category: 'hash',
  args: [{ name: 'text', type: 'string' }],
  returns: 'string',
  nulls: 'propagate',
  doc: 'SHA512 of the text as lower-case hexadecimal digits.',
  example: 'sha512(text)',
  call: perRow('propagate', (text) => createHash('sha512').update(printed(text)).digest('hex')),
});
