import { defineFunction } from '../define.js';

/**
 * @example
 * {"text":"  a b "} => "a b "
 */
export default defineFunction({
  name: 'ltrim',
  category: 'string',
  args: [{ name: 'text', type: 'string' }],
  returns: 'string',
  nulls: 'propagate',
  doc: 'Text without white space at the start.',
  example: 'ltrim(text)',
  op: 'string.ltrim',
});
