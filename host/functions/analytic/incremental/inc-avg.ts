import { defineFunction } from '../../define.js';

/**
 * @example
 * {"power":2} => 2
 * {"power":4} => 3
 */
export default defineFunction({
  name: 'inc_avg',
  category: 'analytic',
  args: [{ name: 'value', type: 'any' }],
  returns: 'float',
  nulls: 'handles',
  doc:
    'Average of the values so far in rows of the result, those of texts that are numbers as well; null where the ' +
    'value is null.',
  example: 'inc_avg(power)',
  analytic: 'accAvg',
  present: true,
});
