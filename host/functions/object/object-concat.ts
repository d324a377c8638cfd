import { defineFunction } from '../define.js';

/**
 * @example
 * {"object":{"a":1,"b":2},"other":{"b":3}} => {"a":1,"b":3}
 */
export default defineFunction({
  name: 'object_concat',
  category: 'object',
  args: [
    { name: 'object', type: 'any', takes: ['struct'] },
    { name: 'other', type: 'any', takes: ['struct'], variadic: true },
  ],
  returns: 'struct',
  nulls: 'handles',
  doc: 'One object of the members of all; the last of a name wins, nulls are skipped.',
  example: 'object_concat(object, other)',
  op: 'nested.concat',
});
