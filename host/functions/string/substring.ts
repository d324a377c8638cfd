import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'substring',
  category: 'string',
  args: [
    { name: 'text', type: 'string' },
    { name: 'start', type: 'int' },
    { name: 'end', type: 'int', optional: true },
  ],
  returns: 'string',
  nulls: 'propagate',
  doc: 'Bytes of the text from start to end (exclusive), counted from 0.',
  example: 'substring(text, 0, 3)',
  op: 'string.substring',
});
