import { orderedKinds } from '../../accumulation.js';
import { defineFunction } from '../../define.js';

/**
 * @example
 * {"ts":1,"temperature":22} => 1
 * {"ts":2,"temperature":20} => 2
 * {"ts":3,"temperature":24} => 2
 */
export default defineFunction({
  name: 'acc_min_by',
  category: 'analytic',
  args: [
    { name: 'value', type: 'any' },
    { name: 'key', type: 'any', takes: orderedKinds },
  ],
  returns: 'any',
  nulls: 'handles',
  doc: 'The value of the row with the smallest key so far; of equal keys that of the first.',
  example: 'acc_min_by(ts, temperature)',
  analytic: 'accMinBy',
});
