import { momentFrom, wholeOf } from '../calendar/moment.js';
import { printTime } from '../calendar/time-format.js';
import { defineFunction, perRow } from '../define.js';

/**
 * @example
 * {"days":1} => "1970-01-01"
 */
export default defineFunction({
  name: 'from_days',
  category: 'datetime',
  args: [{ name: 'days', type: 'any' }],
  returns: 'string',
  nulls: 'propagate',
  doc: 'Date as yyyy-MM-dd by its number: 1 is 1970-01-01; null for 0.',
  example: 'from_days(days)',
  call: perRow('propagate', (days) => {
    const count = wholeOf(days);
    return count === 0n ? null : printTime(momentFrom((count - 1n) * 86_400_000n), 'yyyy-MM-dd');
  }),
});
