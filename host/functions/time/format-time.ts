import { momentFrom } from '../calendar/moment.js';
import { printTime } from '../calendar/time-format.js';
import { defineFunction, perRow } from '../define.js';
import { printed } from '../printing/printed.js';

/**
 * @example
 * {"time":"2026-11-28T12:34:56Z"} => "2026-11-28 12:34:56"
 */
export default defineFunction({
  name: 'format_time',
  category: 'datetime',
  args: [
    { name: 'time', type: 'datetime' },
    { name: 'format', type: 'string' },
  ],
  returns: 'string',
  nulls: 'propagate',
  doc:
    'The time as text by a pattern of yyyy, MM, dd, HH, mm, ss, SSS, a, EEEE, XXX and the like. XXX writes +00:00 ' +
    'for UTC, XX +0000 and X +00: none of them Z.',
  example: 'format_time(time, "yyyy-MM-dd HH:mm:ss")',
  isZoned: true,
  call: perRow('propagate', (time, format, zone) =>
    printTime(momentFrom(time, zone), printed(format), typeof zone === 'string' ? zone : undefined),
  ),
});
