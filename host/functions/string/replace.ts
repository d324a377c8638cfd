import { defineFunction } from '../define.js';

/**
 * @example
 * {"text":"banana"} => "bbnbnb"
 */
export default defineFunction({
  name: 'replace',
  category: 'string',
  args: [
    { name: 'text', type: 'string' },
    { name: 'old', type: 'string' },
    { name: 'new', type: 'string' },
  ],
  returns: 'string',
  nulls: 'propagate',
  doc: 'The text with each occurrence of the second text replaced by the third; an empty second text is found nowhere.',
  example: "replace(text, 'a', 'b')",
  op: 'string.replace',
});
