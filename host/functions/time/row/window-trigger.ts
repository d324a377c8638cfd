import { defineFunction } from '../../define.js';

/**
 * @example
 * CREATE STREAM demo () WITH (FORMAT="json", TIMESTAMP="ts")
 *
 * rows demo
 * {"ts":1000,"temp":20}
 * {"ts":2000,"temp":22}
 *
 * query window_trigger()
 * options {"isEventTime":true}
 * SELECT count(*) AS n, window_trigger() AS at FROM demo GROUP BY SLIDINGWINDOW(ss, 10)
 * ----
 * [{"at":1000,"n":1}]
 */
export default defineFunction({
  name: 'window_trigger',
  category: 'time',
  args: [],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Time of the row or tick that sent the window, epoch milliseconds.',
  example: 'window_trigger()',
  special: 'windowTrigger',
});
