import { randomUUID } from 'node:crypto';
import { defineFunction, perRow } from '../define.js';

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
