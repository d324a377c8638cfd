import { defineFunction } from '../define.js';

/**
 * @example
 * {} => "a"
 */
export default defineFunction({
  name: 'chr',
  category: 'conversion',
  args: [{ name: 'code', type: 'any' }],
  returns: 'string',
  nulls: 'propagate',
  doc: 'The character with the Unicode code; a text of one character stays.',
  example: 'chr(97)',
  check: ([code]) =>
    typeof code === 'number' || typeof code === 'boolean' ? 'argument 1 (code) must be an int or a string' : undefined,
  op: 'convert.chr',
});
