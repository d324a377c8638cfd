import { defineFunction } from '../define.js';

/**
 * @example
 * {"text":"{\"a\":1}"} => {"a":1}
 */
export default defineFunction({
  name: 'parse_json',
  category: 'json',
  args: [{ name: 'text', type: 'string', takes: ['string'] }],
  returns: 'any',
  nulls: 'handles',
  doc: 'The value that the JSON text stands for; numbers become floats.',
  example: 'parse_json(text)',
  op: 'convert.fromJson',
});
