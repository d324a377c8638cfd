import { defineFunction } from '../define.js';

/**
 * @example
 * {"text":"abc"} => true
 * {"text":"bcd"} => false
 */
export default defineFunction({
  name: 'startswith',
  category: 'string',
  args: [
    { name: 'text', type: 'string' },
    { name: 'start', type: 'string' },
  ],
  returns: 'boolean',
  nulls: 'handles',
  doc: 'True when the text starts so; false for null.',
  example: "startswith(text, 'a')",
  op: 'string.startsWith',
});
