import { defineFunction } from '../define.js';

/**
 * @example
 * {} => {"a":1,"b":2}
 */
export default defineFunction({
  name: 'object',
  category: 'object',
  args: [
    { name: 'names', type: 'any' },
    { name: 'values', type: 'any' },
  ],
  returns: 'struct',
  nulls: 'propagate',
  doc: 'Object of a list of names and a list of values, of the same length.',
  example: "object(['a', 'b'], [1, 2])",
  op: 'object.fromLists',
});
