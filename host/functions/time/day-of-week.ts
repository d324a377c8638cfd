import { defineFunction, perRow } from '../define.js';
import { momentFrom, partsOf } from '../moment.js';

export default defineFunction({
  name: 'day_of_week',
  category: 'datetime',
  args: [{ name: 'time', type: 'datetime' }],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Day of the week, 0 (Sunday) to 6.',
  example: 'day_of_week(time)',
  isZoned: true,
  call: perRow('handles', (time, zone) => BigInt(partsOf(momentFrom(time, zone)).weekday)),
});
