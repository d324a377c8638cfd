import { defineFunction } from '../define.js';

/**
 * @example
 * rows demo
 * {"temp":20}
 * {"temp":21}
 * {"temp":22}
 * {"temp":23}
 *
 * query last_agg_hit_time()
 * SELECT last_agg_hit_time() > 0 AS again, sum(temp) AS total FROM demo GROUP BY COUNTWINDOW(2)
 * ----
 * [{"again":false,"total":41}]
 * [{"again":true,"total":45}]
 */
export default defineFunction({
  name: 'last_agg_hit_time',
  category: 'aggregate',
  args: [],
  returns: 'bigint',
  nulls: 'handles',
  doc:
    'End of the newest window before that was sent, epoch milliseconds, 0 before the first; in HAVING: of which a ' +
    'group got past it.',
  example: 'last_agg_hit_time()',
  special: 'windowHitTime',
});
