import { defineFunction } from '../define.js';

/**
 * @example
 * {"text":"data"} => true
 * {"text":"date"} => false
 */
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
