import { defineFunction } from '../define.js';

/**
 * @example
 * {"text":"Oven"} => "OVEN"
 */
export default defineFunction({
  name: 'upper',
  category: 'string',
  args: [{ name: 'text', type: 'string' }],
  returns: 'string',
  nulls: 'propagate',
  doc: 'Text in upper case.',
  example: 'upper(text)',
  op: 'string.upper',
});
