import { defineFunction } from '../define.js';

/**
 * @example
 * rows demo
 * {"a":1,"b":1}
 * {"a":1,"b":2}
 *
 * query changed_cols("c_", true, a, b)
 * SELECT changed_cols("c_", true, a, b) FROM demo
 * ----
 * [{"c_a":1,"c_b":1}]
 * [{"c_b":2}]
 */
export default defineFunction({
  name: 'changed_cols',
  category: 'analytic',
  args: [
    { name: 'prefix', type: 'string' },
    { name: 'ignoreNull', type: 'boolean' },
    { name: 'value', type: 'any', variadic: true },
  ],
  returns: 'columns',
  nulls: 'handles',
  doc:
    'A column for each value that differs from the one sent before, named by the prefix and its own name. `*` ' +
    'stands for all columns; one that is named beside it, or in the list itself, is there once. Only as an item of ' +
    'SELECT.',
  example: 'changed_cols("c_", true, a, b)',
  analytic: 'changedItem',
});
