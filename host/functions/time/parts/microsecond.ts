import { momentFrom, partsOf } from '../../calendar/moment.js';
import { defineFunction, perRow } from '../../define.js';

/**
 * @example
 * {"time":"2026-11-28T12:34:56.000789Z"} => 789
 */
export default defineFunction({
  name: 'microsecond',
  category: 'datetime',
  args: [{ name: 'time', type: 'datetime' }],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Microseconds within the second.',
  example: 'microsecond(time)',
  isZoned: true,
  call: perRow('handles', (time, zone) => BigInt(Math.trunc(partsOf(momentFrom(time, zone)).nanosecond / 1000))),
});
