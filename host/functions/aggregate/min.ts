import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'min',
  category: 'aggregate',
  args: [{ name: 'value', type: 'any' }],
  returns: 'any',
  nulls: 'handles',
  doc: 'Smallest value that is not null.',
  example: 'min(temp)',
  aggregate: 'min',
});
