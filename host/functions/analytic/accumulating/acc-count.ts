import { accumulatedArgs, bothConditions } from '../../accumulation.js';
import { defineFunction } from '../../define.js';

/**
 * @example
 * {"power":0.5} => 0
 * {"power":2} => 1
 * {"power":3} => 2
 * {"power":-1} => 3
 */
export default defineFunction({
  name: 'acc_count',
  category: 'analytic',
  args: [{ name: 'value', type: 'any' }, ...accumulatedArgs.slice(1)],
  returns: 'bigint',
  nulls: 'handles',
  doc:
    'Number of the values so far, nulls left out; 0 before the first. With conditions: from a row where `begin` is ' +
    'true through the next where `reset` is, outside 0.',
  example: 'acc_count(power, power > 1, power < 0)',
  analytic: 'accCount',
  check: bothConditions,
});
