import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'percentile_disc',
  category: 'aggregate',
  args: [
    { name: 'value', type: 'number' },
    { name: 'fraction', type: 'number' },
  ],
  returns: 'number',
  nulls: 'handles',
  doc: 'Smallest value that at least the fraction (0 to 1) of the values does not exceed.',
  example: 'percentile_disc(temp, 0.9)',
  aggregate: 'percentileDisc',
});
