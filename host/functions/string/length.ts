import { defineFunction } from '../define.js';

/**
 * @example
 * {"text":"grün"} => 4
 */
export default defineFunction({
  name: 'length',
  category: 'string',
  args: [{ name: 'value', type: 'any' }],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Count of the characters of a text, the elements of an array or the members of an object; 0 for null.',
  example: 'length(text)',
  op: 'string.length',
});
