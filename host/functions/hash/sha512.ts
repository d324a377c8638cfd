import { createHash } from 'node:crypto';
import { defineFunction, perRow } from '../define.js';
import { printed } from '../printing/printed.js';

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
