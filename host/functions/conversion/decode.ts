import { defineFunction } from '../define.js';

/**
 * @example
 * each cast(decode(text, "base64"), "string")
 * {"text":"aGVsbG8="} => "hello"
 */
export default defineFunction({
  name: 'decode',
  category: 'conversion',
  args: [
    { name: 'text', type: 'string' },
    { name: 'encoding', type: 'string' },
  ],
  returns: 'bytea',
  nulls: 'propagate',
  doc: 'The bytes that the base64 text stands for.',
  example: 'decode(text, "base64")',
  check: ([, encoding]) => (encoding === 'base64' ? undefined : 'argument 2 (encoding) must be "base64"'),
  op: 'convert.decode',
});
