import { defineFunction } from '../define.js';

/**
 * @example
 * {"text":"grün"} => 5
 */
export default defineFunction({
  name: 'numbytes',
  category: 'string',
  args: [{ name: 'text', type: 'string' }],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Count of the bytes of the text in UTF-8; 0 for null.',
  example: 'numbytes(text)',
  op: 'string.numbytes',
});
