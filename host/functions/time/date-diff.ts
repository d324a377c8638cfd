import { momentFrom } from '../calendar/moment.js';
import { defineFunction, perRow } from '../define.js';

/** Largest duration that a BIGINT holds. */
const longest = 2n ** 63n - 1n;

/**
 * @example
 * {"begun":"2026-11-28T12:00:00Z","ended":"2026-11-28T12:00:01Z"} => 1000000000
 */
export default defineFunction({
  name: 'date_diff',
  category: 'datetime',
  args: [
    { name: 'from', type: 'datetime' },
    { name: 'to', type: 'datetime' },
  ],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Nanoseconds from the first time to the second, at most 292 years.',
  example: 'date_diff(begun, ended)',
  isZoned: true,
  call: perRow('handles', (from, to, zone) => {
    const nanos = momentFrom(to, zone).nanos - momentFrom(from, zone).nanos;
    return nanos > longest ? longest : nanos < -longest - 1n ? -longest - 1n : nanos;
  }),
});
