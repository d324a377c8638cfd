import { currentTime } from '../calendar/time-format.js';
import { defineFunction, perRow } from '../define.js';

/**
 * @example
 * each length(now())
 * {} => 19
 */
export default defineFunction({
  name: 'now',
  aliases: ['current_timestamp', 'local_time', 'local_timestamp'],
  isVolatile: true,
  category: 'datetime',
  args: [{ name: 'digits', type: 'int', optional: true }],
  returns: 'string',
  nulls: 'handles',
  doc: 'Date and time of the clock in the zone of the rule, with up to six digits of a fraction.',
  example: 'now()',
  isZoned: true,
  call: perRow('handles', (digits, zone) => currentTime('yyyy-MM-dd HH:mm:ss', digits, zone)),
});
