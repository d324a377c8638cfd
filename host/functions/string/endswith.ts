import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'endswith',
  category: 'string',
  args: [
    { name: 'text', type: 'string' },
    { name: 'end', type: 'string' },
  ],
  returns: 'boolean',
  nulls: 'handles',
  doc: 'True when the text ends so; false for null.',
  example: "endswith(text, 'a')",
  op: 'string.endsWith',
});
