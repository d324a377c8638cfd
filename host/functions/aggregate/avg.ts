import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'avg',
  category: 'aggregate',
  args: [{ name: 'value', type: 'number' }],
  returns: 'number',
  nulls: 'handles',
  doc: 'Average of the values that are not null; of integers an integer.',
  example: 'avg(temp)',
  aggregate: 'avg',
});
