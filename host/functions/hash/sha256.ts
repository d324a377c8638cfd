import { createHash } from 'node:crypto';
import { defineFunction, perRow } from '../define.js';
import { printed } from '../printing/printed.js';

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
