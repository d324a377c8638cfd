import { momentFrom, partsOf } from '../calendar/moment.js';
import { printTime } from '../calendar/time-format.js';
import { defineFunction, perRow } from '../define.js';

/**
 * @example
 * {"time":"2026-11-28T12:34:56Z"} => "2026-11-30"
 */
export default defineFunction({
  name: 'last_day',
  category: 'datetime',
  args: [{ name: 'time', type: 'datetime' }],
  returns: 'string',
  nulls: 'handles',
  doc: 'Date of the last day of the month, as yyyy-MM-dd.',
  example: 'last_day(time)',
  isZoned: true,
  call: perRow('handles', (time, zone) => {
    const { year, month } = partsOf(momentFrom(time, zone));
    const last = new Date(0);
    last.setUTCFullYear(year, month, 0);
    return printTime({ nanos: BigInt(last.getTime()) * 1_000_000n, offset: 0 }, 'yyyy-MM-dd');
  }),
});
