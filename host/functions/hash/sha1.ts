import { createHash } from 'node:crypto';
import { defineFunction, perRow } from '../define.js';
import { printed } from '../printing/printed.js';

/**
 * @example
 * {"text":"hello"} => "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"
 */
export default defineFunction({
  name: 'sha1',
  category: 'hash',
  args: [{ name: 'text', type: 'string' }],
  returns: 'string',
  nulls: 'propagate',
  doc: 'SHA1 of the text as lower-case hexadecimal digits.',
  example: 'sha1(text)',
  call: perRow('propagate', (text) => createHash('sha1').update(printed(text)).digest('hex')),
});
