import { defineFunction, perRow } from '../define.js';
import { momentFrom, partsOf } from '../moment.js';

export default defineFunction({
  name: 'minute',
  category: 'datetime',
  args: [{ name: 'time', type: 'datetime' }],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Minute of the hour, 0 to 59.',
  example: 'minute(time)',
  call: perRow('handles', (time) => BigInt(partsOf(momentFrom(time)).minute)),
});
