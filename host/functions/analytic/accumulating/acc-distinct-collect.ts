import { defineFunction } from '../../define.js';

/**
 * @example
 * {"device":"door","state":"open"} => ["open"]
 * {"device":"door","state":"shut","n":2} => ["open","shut"]
 * {"device":"door","state":"open","n":3} => ["open","shut"]
 */
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
