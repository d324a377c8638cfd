import { defineFunction } from '../define.js';

/**
 * @example
 * {"text":"  a b "} => "  a b"
 */
export default defineFunction({
  name: 'rtrim',
  category: 'string',
  args: [{ name: 'text', type: 'string' }],
  returns: 'string',
  nulls: 'propagate',
  doc: 'Text without white space at the end.',
  example: 'rtrim(text)',
  op: 'string.rtrim',
});
