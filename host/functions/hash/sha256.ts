import { createHash } from 'node:crypto';
import { defineFunction, perRow } from '../define.js';
import { printed } from '../printing/printed.js';

/**
 * @example
 * {"text":"hello"} => "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
 */
export default defineFunction({
  name: 'sha256',
  category: 'hash',
  args: [{ name: 'text', type: 'string' }],
  returns: 'string',
  nulls: 'propagate',
  doc: 'SHA256 of the text as lower-case hexadecimal digits.',
  example: 'sha256(text)',
  call: perRow('propagate', (text) => createHash('sha256').update(printed(text)).digest('hex')),
});
