import { defineFunction } from '../define.js';

/**
 * @example
 * {"text":"  a b "} => "a b"
 */
export default defineFunction({
  name: 'trim',
  category: 'string',
  args: [{ name: 'text', type: 'string' }],
  returns: 'string',
  nulls: 'propagate',
  doc: 'Text without white space at both ends.',
  example: 'trim(text)',
  op: 'string.trim',
});
