import { defineFunction, perRow } from '../define.js';
import { currentTime } from '../time-format.js';

export default defineFunction({
  name: 'current_date',
  aliases: ['cur_date'],
  isVolatile: true,
  category: 'datetime',
  args: [],
  returns: 'string',
  nulls: 'handles',
  doc: 'Date of the clock in UTC.',
  example: 'current_date()',
  call: perRow('handles', () => currentTime('yyyy-MM-dd')),
});
