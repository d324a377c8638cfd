import { orderedKinds } from '../../accumulation.js';
import { defineFunction } from '../../define.js';

/**
 * @example
 * {"power":4} => 4
 * {"power":2} => 2
 * {"power":3} => 2
 */
export default defineFunction({
  name: 'inc_min',
  category: 'analytic',
  args: [{ name: 'value', type: 'any', takes: orderedKinds }],
  returns: 'any',
  nulls: 'handles',
  doc: 'Smallest of the numbers, texts or datetimes so far in rows of the result; null where the value is null.',
  example: 'inc_min(power)',
  analytic: 'accMinBy',
  present: true,
});
