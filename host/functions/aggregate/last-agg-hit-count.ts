import { defineFunction } from '../define.js';

/**
 * @example
 * rows demo
 * {"temp":20}
 * {"temp":21}
 * {"temp":22}
 * {"temp":23}
 *
 * query last_agg_hit_count()
 * SELECT last_agg_hit_count() AS before, sum(temp) AS total FROM demo GROUP BY COUNTWINDOW(2)
 * ----
 * [{"before":0,"total":41}]
 * [{"before":1,"total":45}]
 */
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
