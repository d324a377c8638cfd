import { defineFunction } from '../define.js';

/**
 * @example
 * {"a":"oven","b":"3"} => "oven-3"
 */
export default defineFunction({
  name: 'concat',
  category: 'string',
  args: [{ name: 'texts', type: 'string', variadic: true }],
  returns: 'string',
  nulls: 'handles',
  doc: 'Texts of the arguments in a row; nulls are skipped.',
  example: "concat(a, '-', b)",
  op: 'string.concat',
});
