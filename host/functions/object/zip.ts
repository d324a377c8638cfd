import { defineFunction } from '../define.js';

/**
 * @example
 * {} => {"a":1,"b":2}
 */
export default defineFunction({
  name: 'zip',
  category: 'object',
  args: [{ name: 'entries', type: 'any' }],
  returns: 'struct',
  nulls: 'propagate',
  doc: 'Object of a list of lists of a name and a value; null entries are skipped, of equal names the last counts.',
  example: "zip([['a', 1], ['b', 2]])",
  op: 'object.fromItems',
});
