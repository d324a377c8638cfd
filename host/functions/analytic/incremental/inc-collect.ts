import { defineFunction } from '../../define.js';

/**
 * @example
 * {"power":2} => [2]
 * {"power":4} => [2,4]
 */
export default defineFunction({
  name: 'inc_collect',
  category: 'analytic',
  args: [{ name: 'value', type: 'any' }],
  returns: 'array',
  nulls: 'handles',
  doc: 'List of the values so far in rows of the result; null where the value is null. It grows with the rows.',
  example: 'inc_collect(power)',
  analytic: 'incCollect',
});
