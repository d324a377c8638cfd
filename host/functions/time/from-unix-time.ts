import { defineFunction, perRow } from '../define.js';
import { momentFrom, wholeOf } from '../moment.js';
import { printTime } from '../time-format.js';

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
