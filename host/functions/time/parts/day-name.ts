import { momentFrom, partsOf } from '../../calendar/moment.js';
import { weekdayName } from '../../calendar/time-format.js';
import { defineFunction, perRow } from '../../define.js';

/**
 * @example
 * {"time":"2026-11-28T12:34:56Z"} => "Saturday"
 */
export default defineFunction({
  name: 'day_name',
  category: 'datetime',
  args: [{ name: 'time', type: 'datetime' }],
  returns: 'string',
  nulls: 'handles',
  doc: 'English name of the day of the week.',
  example: 'day_name(time)',
  isZoned: true,
  call: perRow('handles', (time, zone) => weekdayName(partsOf(momentFrom(time, zone)).weekday)),
});
