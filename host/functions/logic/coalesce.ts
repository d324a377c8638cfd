import { defineFunction } from '../define.js';

/**
 * @example
 * {"a":null,"b":2} => 2
 * {} => 0
 */
export default defineFunction({
  name: 'coalesce',
  category: 'logic',
  args: [{ name: 'values', type: 'any', variadic: true }],
  returns: 'any',
  nulls: 'handles',
  doc: 'First argument that is not null.',
  example: 'coalesce(a, b, 0)',
  op: 'logic.coalesce',
});
