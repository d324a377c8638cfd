import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'percentile_cont',
  category: 'aggregate',
  args: [
    { name: 'value', type: 'number' },
    { name: 'fraction', type: 'number' },
  ],
  returns: 'float',
  nulls: 'handles',
  doc: 'Value below which the fraction (0 to 1) of the values lies, interpolated.',
  example: 'percentile_cont(temp, 0.9)',
  aggregate: 'percentileCont',
});
