import { defineFunction } from '../define.js';

/**
 * @example
 * {"object":{"a":1}} => "{\"a\":1}"
 */
export default defineFunction({
  name: 'to_json',
  category: 'json',
  args: [{ name: 'value', type: 'any' }],
  returns: 'string',
  nulls: 'propagate',
  doc: 'The value as JSON text.',
  example: 'to_json(object)',
  op: 'convert.toJson',
});
