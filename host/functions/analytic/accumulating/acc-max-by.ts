import { orderedKinds } from '../../accumulation.js';
import { defineFunction } from '../../define.js';

/**
 * @example
 * {"ts":1,"temperature":20} => 1
 * {"ts":2,"temperature":24} => 2
 * {"ts":3,"temperature":22} => 2
 */
export default defineFunction({
  name: 'acc_max_by',
  category: 'analytic',
  args: [
    { name: 'value', type: 'any' },
    { name: 'key', type: 'any', takes: orderedKinds },
  ],
  returns: 'any',
  nulls: 'handles',
  doc: 'The value of the row with the largest key so far; of equal keys that of the first.',
  example: 'acc_max_by(ts, temperature)',
  analytic: 'accMaxBy',
});
