import { momentFrom, wholeOf } from '../calendar/moment.js';
import { printTime } from '../calendar/time-format.js';
import { defineFunction, perRow } from '../define.js';

/**
 * @example
 * {"seconds":1795869296} => "2026-11-28 12:34:56"
 */
export default defineFunction({
  name: 'from_unix_time',
  category: 'datetime',
  args: [{ name: 'seconds', type: 'any' }],
  returns: 'string',
  nulls: 'propagate',
  doc: 'Seconds since the epoch as yyyy-MM-dd HH:mm:ss in the zone of the rule; null for 0.',
  example: 'from_unix_time(seconds)',
  isZoned: true,
  call: perRow('propagate', (seconds, zone) => {
    const count = wholeOf(seconds);
    return count === 0n ? null : printTime(momentFrom(count * 1000n, zone), 'yyyy-MM-dd HH:mm:ss');
  }),
});
