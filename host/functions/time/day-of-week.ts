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
  call: perRow('handles', (time) => BigInt(partsOf(momentFrom(time)).weekday)),
});
