import { defineFunction } from '../../define.js';

/**
 * @example
 * {"device":"door","state":"open"} => ["open"]
 * {"device":"gate","state":"shut"} => ["shut"]
 * {"device":"door","state":"shut"} => ["open","shut"]
 */
export default defineFunction({
  name: 'acc_collect',
  category: 'analytic',
  args: [{ name: 'value', type: 'any' }],
  returns: 'array',
  nulls: 'handles',
  doc: 'All values so far, nulls too, as a list; an error once it is longer than a value may be (maxValueBytes).',
  example: 'acc_collect(state) OVER (PARTITION BY device)',
  analytic: 'accCollect',
});
