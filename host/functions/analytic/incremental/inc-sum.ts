import { defineFunction } from '../../define.js';

/**
 * @example
 * {"power":2} => 2
 * {"power":4} => 6
 */
export default defineFunction({
  name: 'inc_sum',
  category: 'analytic',
  args: [{ name: 'value', type: 'any' }],
  returns: 'float',
  nulls: 'handles',
  doc:
    'Sum of the values so far in rows of the result, those of texts that are numbers as well; null where the value ' +
    'is null.',
  example: 'inc_sum(power)',
  analytic: 'accSum',
  present: true,
});
