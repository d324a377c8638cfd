import { momentFrom, partsOf } from '../../calendar/moment.js';
import { defineFunction, perRow } from '../../define.js';

/**
 * @example
 * {"time":"2026-11-28T12:34:56Z"} => 34
 */
export default defineFunction({
  name: 'minute',
  category: 'datetime',
  args: [{ name: 'time', type: 'datetime' }],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Minute of the hour, 0 to 59.',
  example: 'minute(time)',
  isZoned: true,
  call: perRow('handles', (time, zone) => BigInt(partsOf(momentFrom(time, zone)).minute)),
});
