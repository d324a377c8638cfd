import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'median',
  category: 'aggregate',
  args: [{ name: 'value', type: 'number' }],
  returns: 'number',
  nulls: 'handles',
  doc: 'Median of the values.',
  example: 'median(temp)',
  aggregate: 'median',
});
