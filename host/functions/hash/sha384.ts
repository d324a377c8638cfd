import { createHash } from 'node:crypto';
import { defineFunction, perRow } from '../define.js';
import { printed } from '../printing/printed.js';

/**
 * @example
 * each substring(sha384(text), 0, 32)
 * {"text":"hello"} => "59e1748777448c69de6b800d7a33bbfb"
 */
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
