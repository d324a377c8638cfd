import { defineFunction } from '../define.js';

/**
 * @example
 * {"a":null} => true
 * {"a":1} => false
 * {} => true
 */
export default defineFunction({
  name: 'isnull',
  category: 'logic',
  args: [{ name: 'value', type: 'any' }],
  returns: 'boolean',
  nulls: 'handles',
  doc: 'True when the value is null or missing.',
  example: 'isnull(a)',
  op: 'logic.isNull',
});
