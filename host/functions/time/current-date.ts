import { currentTime } from '../calendar/time-format.js';
import { defineFunction, perRow } from '../define.js';

/**
 * @example
 * each length(current_date())
 * {} => 10
 */
export default defineFunction({
  name: 'current_date',
  aliases: ['cur_date'],
  isVolatile: true,
  category: 'datetime',
  args: [],
  returns: 'string',
  nulls: 'handles',
  doc: 'Date of the clock in the zone of the rule.',
  example: 'current_date()',
  isZoned: true,
  call: perRow('handles', (zone) => currentTime('yyyy-MM-dd', null, zone)),
});
