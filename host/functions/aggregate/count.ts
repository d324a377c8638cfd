import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'count',
  category: 'aggregate',
  args: [{ name: 'value', type: 'any' }],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Number of values that are not null; count(*) counts rows.',
  example: 'count(*)',
  aggregate: 'count',
});
