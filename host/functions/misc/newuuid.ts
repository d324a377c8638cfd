import { randomUUID } from 'node:crypto';
import { defineFunction, perRow } from '../define.js';

/**
 * @example
 * each length(newuuid())
 * {} => 36
 */
export default defineFunction({
  name: 'newuuid',
  isVolatile: true,
  category: 'misc',
  args: [],
  returns: 'string',
  nulls: 'handles',
  doc: 'A new random UUID.',
  example: 'newuuid()',
  call: perRow('handles', () => randomUUID()),
});
