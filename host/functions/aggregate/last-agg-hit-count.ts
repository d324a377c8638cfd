import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'last_agg_hit_count',
  category: 'aggregate',
  args: [],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'How many rows of results were sent before; in HAVING: how many windows of which a group got past it.',
  example: 'last_agg_hit_count()',
  special: 'windowHitCount',
});
