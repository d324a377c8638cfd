import { momentFrom } from '../calendar/moment.js';
import { defineFunction, perRow } from '../define.js';

/**
 * @example
 * {"time":"2026-11-28T12:34:56Z"} => 1795869296
 */
export default defineFunction({
  name: 'to_seconds',
  category: 'datetime',
  args: [{ name: 'time', type: 'any', takes: ['datetime'] }],
  returns: 'bigint',
  nulls: 'propagate',
  doc: 'Seconds since the epoch.',
  example: 'to_seconds(time)',
  isZoned: true,
  call: perRow('propagate', (time, zone) => {
    const { nanos } = momentFrom(time, zone);
    // Down to the whole second, before the epoch as well.
    return (nanos - (((nanos % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n)) / 1_000_000_000n;
  }),
});
