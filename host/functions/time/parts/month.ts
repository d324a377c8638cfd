import { momentFrom, partsOf } from '../../calendar/moment.js';
import { defineFunction, perRow } from '../../define.js';

/**
 * @example
 * {"time":"2026-11-28T12:34:56Z"} => 11
 */
export default defineFunction({
  name: 'month',
  category: 'datetime',
  args: [{ name: 'time', type: 'datetime' }],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Month of the year, 1 to 12.',
  example: 'month(time)',
  isZoned: true,
  call: perRow('handles', (time, zone) => BigInt(partsOf(momentFrom(time, zone)).month)),
});
