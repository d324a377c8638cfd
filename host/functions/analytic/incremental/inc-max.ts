import { orderedKinds } from '../../accumulation.js';
import { defineFunction } from '../../define.js';

/**
 * @example
 * {"power":2} => 2
 * {"power":4} => 4
 * {"power":3} => 4
 */
export default defineFunction({
  name: 'inc_max',
  category: 'analytic',
  args: [{ name: 'value', type: 'any', takes: orderedKinds }],
  returns: 'any',
  nulls: 'handles',
  doc: 'Largest of the numbers, texts or datetimes so far in rows of the result; null where the value is null.',
  example: 'inc_max(power)',
  analytic: 'accMaxBy',
  present: true,
});
