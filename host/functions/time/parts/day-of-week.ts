import { momentFrom, partsOf } from '../../calendar/moment.js';
import { defineFunction, perRow } from '../../define.js';

/**
 * @example
 * {"time":"2026-11-28T12:34:56Z"} => 6
 */
export default defineFunction({
  name: 'day_of_week',
  category: 'datetime',
  args: [{ name: 'time', type: 'datetime' }],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Day of the week, 0 (Sunday) to 6.',
  example: 'day_of_week(time)',
  isZoned: true,
  call: perRow('handles', (time, zone) => BigInt(partsOf(momentFrom(time, zone)).weekday)),
});
