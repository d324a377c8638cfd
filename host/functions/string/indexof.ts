import { defineFunction } from '../define.js';

/**
 * @example
 * {"text":"data"} => 1
 * {"text":"text"} => -1
 */
export default defineFunction({
  name: 'indexof',
  category: 'string',
  args: [
    { name: 'text', type: 'string' },
    { name: 'part', type: 'string' },
  ],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Byte position of the part in the text; -1 when it is not there or null.',
  example: "indexof(text, 'a')",
  op: 'string.indexOf',
});
