import { accumulatedArgs, bothConditions } from '../../accumulation.js';
import { defineFunction } from '../../define.js';

/**
 * @example
 * {"power":2} => 2
 * {"power":4} => 6
 */
export default defineFunction({
  name: 'acc_sum',
  category: 'analytic',
  args: accumulatedArgs,
  returns: 'float',
  nulls: 'handles',
  doc:
    'Sum of the values so far, nulls left out; 0 before the first. With conditions: from a row where `begin` is ' +
    'true through the next where `reset` is, outside 0.',
  example: 'acc_sum(power)',
  analytic: 'accSum',
  check: bothConditions,
});
