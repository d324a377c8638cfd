import { defineFunction } from '../define.js';

/**
 * @example
 * {"object":{"a":1,"b":{"c":2,"d":3},"e":4}} => {"a":1,"b":{"c":2}}
 */
export default defineFunction({
  name: 'object_pick',
  category: 'object',
  args: [
    { name: 'object', type: 'any', takes: ['struct'] },
    { name: 'names', type: 'any' },
    { name: 'more', type: 'any', optional: true, variadic: true },
  ],
  returns: 'struct',
  nulls: 'handles',
  doc:
    'The object with the named members alone: a list of names or any number of names. A name with points is a ' +
    "path: 'a.b' is member b of member a.",
  example: "object_pick(object, 'a', 'b.c')",
  op: 'object.pick',
});
