import { currentTime } from '../calendar/time-format.js';
import { defineFunction, perRow } from '../define.js';

/**
 * @example
 * each length(current_time())
 * {} => 8
 */
export default defineFunction({
  name: 'current_time',
  aliases: ['cur_time'],
  isVolatile: true,
  category: 'datetime',
  args: [{ name: 'digits', type: 'int', optional: true }],
  returns: 'string',
  nulls: 'handles',
  doc: 'Time of day of the clock in the zone of the rule, with up to six digits of a fraction.',
  example: 'current_time()',
  isZoned: true,
  call: perRow('handles', (digits, zone) => currentTime('HH:mm:ss', digits, zone)),
});
