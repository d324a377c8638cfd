import { momentFrom, partsOf } from '../../calendar/moment.js';
import { defineFunction, perRow } from '../../define.js';

/**
 * @example
 * {"time":"2026-11-28T12:34:56Z"} => 332
 */
export default defineFunction({
  name: 'day_of_year',
  category: 'datetime',
  args: [{ name: 'time', type: 'datetime' }],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Day of the year, from 1.',
  example: 'day_of_year(time)',
  isZoned: true,
  call: perRow('handles', (time, zone) => BigInt(partsOf(momentFrom(time, zone)).yearDay)),
});
