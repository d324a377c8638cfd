import { Instant } from '../../../kernels/values/value.js';
import { momentFrom } from '../calendar/moment.js';
import { defineFunction, perRow } from '../define.js';
import { printed } from '../printing/printed.js';

/** Years 0000 to 9999, which is all that RFC 3339 can write, in nanoseconds. */
const first = -62_167_219_200_000_000_000n;
const last = 253_402_300_799_999_999_999n;

/**
 * @example
 * {"time":"2026-11-28 12:34:56"} => "2026-11-28T12:34:56+01:00"
 * {"time":"2026-11-28T12:34:56Z"} => "2026-11-28T12:34:56Z"
 */
export default defineFunction({
  name: 'to_datetime',
  category: 'datetime',
  args: [
    { name: 'time', type: 'any', takes: ['datetime'] },
    { name: 'zone', type: 'string' },
  ],
  returns: 'datetime',
  nulls: 'propagate',
  doc:
    'As cast(time, "datetime"), in the zone: texts without an offset are read there, epoch milliseconds get the ' +
    'offset there.',
  example: 'to_datetime(time, "Europe/Paris")',
  call: perRow('propagate', (time, zone) => {
    if (time instanceof Instant) return time;
    const { nanos, offset } = momentFrom(time, printed(zone));
    const local = nanos + BigInt(offset) * 1_000_000_000n;
    if (local < first || local > last) throw new Error(`${printed(time)} is beyond the years 0 to 9999`);
    return new Instant(nanos, offset);
  }),
});
