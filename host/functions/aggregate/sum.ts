import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'sum',
  category: 'aggregate',
  args: [{ name: 'value', type: 'number' }],
  returns: 'number',
  nulls: 'handles',
  doc: 'Sum of the values that are not null; of integers an integer.',
  example: 'sum(amount)',
  aggregate: 'sum',
});
