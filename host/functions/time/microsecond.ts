import { defineFunction, perRow } from '../define.js';
import { momentFrom, partsOf } from '../moment.js';

export default defineFunction({
  name: 'microsecond',
  category: 'datetime',
  args: [{ name: 'time', type: 'datetime' }],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Microseconds within the second.',
  example: 'microsecond(time)',
  call: perRow('handles', (time) => BigInt(Math.trunc(partsOf(momentFrom(time)).nanosecond / 1000))),
});
