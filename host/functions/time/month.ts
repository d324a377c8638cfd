import { defineFunction, perRow } from '../define.js';
import { momentFrom, partsOf } from '../moment.js';

export default defineFunction({
  name: 'month',
  category: 'datetime',
  args: [{ name: 'time', type: 'datetime' }],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Month of the year, 1 to 12.',
  example: 'month(time)',
  call: perRow('handles', (time) => BigInt(partsOf(momentFrom(time)).month)),
});
