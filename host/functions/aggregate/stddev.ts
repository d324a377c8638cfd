import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'stddev',
  category: 'aggregate',
  args: [{ name: 'value', type: 'number' }],
  returns: 'float',
  nulls: 'handles',
  doc: 'Population standard deviation.',
  example: 'stddev(temp)',
  aggregate: 'stddev',
});
