import { Instant } from '../../../kernels/values/value.js';
import { nanosOf } from '../calendar/duration.js';
import { momentAt, momentFrom } from '../calendar/moment.js';
import { printTime } from '../calendar/time-format.js';
import { defineFunction, perRow } from '../define.js';
import { printed } from '../printing/printed.js';

/**
 * @example
 * {"time":"2026-11-28T12:00:00Z"} => "2026-11-28 11:00:00"
 */
export default defineFunction({
  name: 'date_calc',
  category: 'datetime',
  args: [
    { name: 'time', type: 'datetime' },
    { name: 'duration', type: 'string' },
  ],
  returns: 'string',
  nulls: 'handles',
  doc: 'The time plus a duration such as 1h30m, -45s or 500ms, as yyyy-MM-dd HH:mm:ss.',
  example: 'date_calc(time, "-1h")',
  isZoned: true,
  call: perRow('handles', (time, duration, zone) => {
    const { nanos, offset, zone: named } = momentFrom(time, zone);
    const moved = momentFrom(new Instant(nanos + nanosOf(printed(duration)), offset));
    return printTime(named === undefined ? moved : momentAt(moved.nanos, named), 'yyyy-MM-dd HH:mm:ss');
  }),
});
