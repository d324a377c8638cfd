import { defineFunction, perRow } from '../define.js';
import { momentFrom, partsOf } from '../moment.js';

export default defineFunction({
  name: 'day',
  aliases: ['day_of_month'],
  category: 'datetime',
  args: [{ name: 'time', type: 'datetime' }],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Day of the month, 1 to 31.',
  example: 'day(time)',
  call: perRow('handles', (time) => BigInt(partsOf(momentFrom(time)).day)),
});
