import { defineFunction } from '../../define.js';

export default defineFunction({
  name: 'inc_count',
  category: 'analytic',
  args: [{ name: 'value', type: 'any' }],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Count of the values so far in rows of the result; null where the value is null.',
  example: 'inc_count(power)',
  analytic: 'accCount',
  present: true,
});
