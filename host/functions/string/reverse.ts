import { defineFunction } from '../define.js';

/**
 * @example
 * {"text":"abc"} => "cba"
 */
export default defineFunction({
  name: 'reverse',
  category: 'string',
  args: [{ name: 'text', type: 'string' }],
  returns: 'string',
  nulls: 'propagate',
  doc: 'Characters in reverse order.',
  example: 'reverse(text)',
  op: 'string.reverse',
});
