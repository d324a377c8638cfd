import { defineFunction } from '../define.js';

/**
 * @example
 * {"a":1,"b":"x"} => [1,"x"]
 */
export default defineFunction({
  name: 'array_create',
  category: 'array',
  args: [{ name: 'value', type: 'any', optional: true, variadic: true }],
  returns: 'array',
  nulls: 'handles',
  doc: 'List of the arguments that are not null; null when there are none.',
  example: 'array_create(a, b)',
  op: 'list.create',
});
