import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'var',
  category: 'aggregate',
  args: [{ name: 'value', type: 'number' }],
  returns: 'float',
  nulls: 'handles',
  doc: 'Population variance.',
  example: 'var(temp)',
  aggregate: 'var',
});
