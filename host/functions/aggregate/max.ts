import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'max',
  category: 'aggregate',
  args: [{ name: 'value', type: 'any' }],
  returns: 'any',
  nulls: 'handles',
  doc: 'Largest value that is not null.',
  example: 'max(temp)',
  aggregate: 'max',
});
