import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'stddevs',
  category: 'aggregate',
  args: [{ name: 'value', type: 'number' }],
  returns: 'float',
  nulls: 'handles',
  doc: 'Sample standard deviation.',
  example: 'stddevs(temp)',
  aggregate: 'stddevs',
});
