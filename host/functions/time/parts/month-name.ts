import { momentFrom, partsOf } from '../../calendar/moment.js';
import { monthName } from '../../calendar/time-format.js';
import { defineFunction, perRow } from '../../define.js';

/**
 * @example
 * {"time":"2026-11-28T12:34:56Z"} => "November"
 */
export default defineFunction({
  name: 'month_name',
  category: 'datetime',
  args: [{ name: 'time', type: 'datetime' }],
  returns: 'string',
  nulls: 'handles',
  doc: 'English name of the month.',
  example: 'month_name(time)',
  isZoned: true,
  call: perRow('handles', (time, zone) => monthName(partsOf(momentFrom(time, zone)).month)),
});
