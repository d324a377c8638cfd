import { createHash } from 'node:crypto';
import { defineFunction, perRow } from '../define.js';
import { printed } from '../printing/printed.js';

/**
 * @example
 * {"text":"hello"} => "5d41402abc4b2a76b9719d911017c592"
 */
export default defineFunction({
  name: 'md5',
  category: 'hash',
  args: [{ name: 'text', type: 'string' }],
  returns: 'string',
  nulls: 'propagate',
  doc: 'MD5 of the text as lower-case hexadecimal digits.',
  example: 'md5(text)',
  call: perRow('propagate', (text) => createHash('md5').update(printed(text)).digest('hex')),
});
