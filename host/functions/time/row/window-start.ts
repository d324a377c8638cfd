import { defineFunction } from '../../define.js';

/**
 * @example
 * CREATE STREAM demo () WITH (FORMAT="json", TIMESTAMP="ts")
 *
 * rows demo
 * {"ts":1000,"temp":20}
 * {"ts":11000,"temp":22}
 *
 * query window_start()
 * options {"isEventTime":true}
 * SELECT avg(temp) AS mean, window_start() AS begin FROM demo GROUP BY TUMBLINGWINDOW(ss, 10)
 * ----
 * [{"begin":1000,"mean":20}]
 */
export default defineFunction({
  name: 'window_start',
  category: 'time',
  args: [],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Start of the window, epoch milliseconds; of the first tumbling or hopping one since when it was there.',
  example: 'window_start()',
  special: 'windowStart',
});
