import { accumulatedArgs, bothConditions } from '../../accumulation.js';
import { defineFunction } from '../../define.js';

/**
 * @example
 * {"power":4} => 4
 * {"power":2} => 2
 * {"power":3} => 2
 */
export default defineFunction({
  name: 'acc_min',
  category: 'analytic',
  args: accumulatedArgs,
  returns: 'float',
  nulls: 'handles',
  doc:
    'Smallest of the values so far, nulls left out; 0 before the first. With conditions: from a row where `begin` ' +
    'is true through the next where `reset` is, outside 0.',
  example: 'acc_min(power)',
  analytic: 'accMin',
  check: bothConditions,
});
