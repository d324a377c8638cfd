import { defineFunction } from '../define.js';

/**
 * @example
 * {"text":"hello"} => "aGVsbG8="
 */
export default defineFunction({
  name: 'encode',
  category: 'conversion',
  args: [
    { name: 'text', type: 'string', takes: ['string', 'bytea'] },
    { name: 'encoding', type: 'string' },
  ],
  returns: 'string',
  nulls: 'propagate',
  doc: 'The text in base64.',
  example: 'encode(text, "base64")',
  check: ([, encoding]) => (encoding === 'base64' ? undefined : 'argument 2 (encoding) must be "base64"'),
  op: 'convert.encode',
});
