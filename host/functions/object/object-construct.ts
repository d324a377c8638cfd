import { defineFunction } from '../define.js';

/**
 * @example
 * {"a":1,"b":"x"} => {"a":1,"b":"x"}
 */
export default defineFunction({
  name: 'object_construct',
  category: 'object',
  args: [{ name: 'member', type: 'any', optional: true, variadic: true }],
  returns: 'struct',
  nulls: 'handles',
  doc: 'Object of the arguments: name, value, name, value, … A member whose name is null is left out.',
  example: "object_construct('a', a, 'b', b)",
  check: (args) => {
    if (args.length % 2 !== 0) return 'the arguments must be pairs of a name and a value';
    const wrong = args.findIndex(
      (arg, i) => i % 2 === 0 && arg !== undefined && arg !== null && typeof arg !== 'string',
    );
    return wrong < 0 ? undefined : `argument ${wrong + 1} must be a string`;
  },
  op: 'object.construct',
});
