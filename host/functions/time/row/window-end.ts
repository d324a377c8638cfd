import { defineFunction } from '../../define.js';

/**
 * @example
 * CREATE STREAM demo () WITH (FORMAT="json", TIMESTAMP="ts")
 *
 * rows demo
 * {"ts":1000,"temp":20}
 * {"ts":11000,"temp":22}
 *
 * query window_end()
 * options {"isEventTime":true}
 * SELECT avg(temp) AS mean, window_end() AS at FROM demo GROUP BY TUMBLINGWINDOW(ss, 10)
 * ----
 * [{"at":10000,"mean":20}]
 */
export default defineFunction({
  name: 'window_end',
  category: 'time',
  args: [],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'End of the window, epoch milliseconds.',
  example: 'window_end()',
  special: 'windowEnd',
});
