import { orderedKinds } from '../../accumulation.js';
import { defineFunction } from '../../define.js';

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
