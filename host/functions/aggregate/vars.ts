import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'vars',
  category: 'aggregate',
  args: [{ name: 'value', type: 'number' }],
  returns: 'float',
  nulls: 'handles',
  doc: 'Sample variance.',
  example: 'vars(temp)',
  aggregate: 'vars',
});
