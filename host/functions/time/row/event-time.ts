import { defineFunction } from '../../define.js';

/**
 * @example
 * CREATE STREAM demo () WITH (FORMAT="json", TIMESTAMP="ts")
 *
 * rows demo
 * {"ts":1000,"temp":20}
 * {"ts":2000,"temp":21}
 *
 * query event_time()
 * options {"isEventTime":true}
 * SELECT temp, event_time() AS at FROM demo
 * ----
 * [{"at":1000,"temp":20}]
 */
export default defineFunction({
  name: 'event_time',
  category: 'time',
  args: [],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Timestamp of the row, epoch milliseconds; beside aggregates the end of the window.',
  example: 'event_time()',
  special: 'eventTime',
});
