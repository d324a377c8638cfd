import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'ltrim',
  category: 'string',
  args: [{ name: 'text', type: 'string' }],
  returns: 'string',
  nulls: 'propagate',
  doc: 'Text without white space at the start.',
  example: 'ltrim(text)',
  op: 'string.ltrim',
});
