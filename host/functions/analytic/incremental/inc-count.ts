import { defineFunction } from '../../define.js';

/**
 * @example
 * {"power":2} => 1
 * {"power":null} => none
 * {"power":4} => 2
 */
export default defineFunction({
  name: 'inc_count',
  category: 'analytic',
  args: [{ name: 'value', type: 'any' }],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Count of the values so far in rows of the result; null where the value is null.',
  example: 'inc_count(power)',
  analytic: 'accCount',
  present: true,
});
