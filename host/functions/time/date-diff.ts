import { momentFrom } from '../calendar/moment.js';
import { defineFunction, perRow } from '../define.js';

/** Largest duration that a BIGINT holds. */
const longest = 2n ** 63n - 1n;

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
  example: 'date_diff(from, to)',
  isZoned: true,
  call: perRow('handles', (from, to, zone) => {
    const nanos = momentFrom(to, zone).nanos - momentFrom(from, zone).nanos;
    return nanos > longest ? longest : nanos < -longest - 1n ? -longest - 1n : nanos;
  }),
});
