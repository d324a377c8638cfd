import { defineFunction } from '../../define.js';

/**
 * @example
 * {"object":{"a":1}} => {"a":1}
 * {"object":{"b":2}} => {"a":1,"b":2}
 */
export default defineFunction({
  name: 'inc_merge_agg',
  category: 'analytic',
  args: [{ name: 'value', type: 'any' }],
  returns: 'struct',
  nulls: 'handles',
  doc: 'The objects so far in rows of the result as one, of equal members the last; null where the value is null.',
  example: 'inc_merge_agg(object)',
  analytic: 'incMergeAgg',
});
