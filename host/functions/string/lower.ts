import { defineFunction } from '../define.js';

/**
 * @example
 * {"text":"Oven"} => "oven"
 */
export default defineFunction({
  name: 'lower',
  category: 'string',
  args: [{ name: 'text', type: 'string' }],
  returns: 'string',
  nulls: 'propagate',
  doc: 'Text in lower case.',
  example: 'lower(text)',
  op: 'string.lower',
});
