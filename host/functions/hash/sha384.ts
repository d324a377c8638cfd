import { createHash } from 'node:crypto';
import { defineFunction, perRow } from '../define.js';
import { printed } from '../printing/printed.js';

export default defineFunction({
  name: 'sha384',
  category: 'hash',
  args: [{ name: 'text', type: 'string' }],
  returns: 'string',
  nulls: 'propagate',
  doc: 'SHA384 of the text as lower-case hexadecimal digits.',
  example: 'sha384(text)',
  call: perRow('propagate', (text) => createHash('sha384').update(printed(text)).digest('hex')),
});
