import { defineFunction, perRow } from '../define.js';
import { momentFrom } from '../moment.js';

export default defineFunction({
  name: 'date_diff',
  category: 'datetime',
  args: [
    { name: 'from', type: 'datetime' },
    { name: 'to', type: 'datetime' },
  ],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Nanoseconds from the first time to the second.',
  example: 'date_diff(from, to)',
  call: perRow('handles', (from, to) => (momentFrom(to).micros - momentFrom(from).micros) * 1000n),
});
