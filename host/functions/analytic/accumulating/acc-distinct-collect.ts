import { defineFunction } from '../../define.js';

export default defineFunction({
  name: 'acc_distinct_collect',
  category: 'analytic',
  args: [{ name: 'value', type: 'any' }],
  returns: 'array',
  nulls: 'handles',
  doc: 'All different values so far, null among them, as a list in the order in which they came.',
  example: 'acc_distinct_collect(state) OVER (PARTITION BY device)',
  analytic: 'accDistinctCollect',
});
