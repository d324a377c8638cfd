import { momentFrom, partsOf } from '../../calendar/moment.js';
import { defineFunction, perRow } from '../../define.js';

/**
 * @example
 * {"time":"2026-11-28T12:34:56Z"} => 28
 */
export default defineFunction({
  name: 'day',
  aliases: ['day_of_month'],
  category: 'datetime',
  args: [{ name: 'time', type: 'datetime' }],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Day of the month, 1 to 31.',
  example: 'day(time)',
  isZoned: true,
  call: perRow('handles', (time, zone) => BigInt(partsOf(momentFrom(time, zone)).day)),
});
