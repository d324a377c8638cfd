import { momentAt, momentFrom, partsOf } from '../calendar/moment.js';
import { printTime } from '../calendar/time-format.js';
import { defineFunction, perRow } from '../define.js';
import { offsetText } from '../printing/offset-text.js';
import { printed } from '../printing/printed.js';

/**
 * @example
 * {"time":"2026-11-28T12:00:00Z"} => "2026-11-28T20:00:00+08:00"
 */
export default defineFunction({
  name: 'convert_tz',
  category: 'datetime',
  args: [
    { name: 'time', type: 'datetime' },
    { name: 'zone', type: 'string' },
  ],
  returns: 'string',
  nulls: 'propagate',
  doc: 'The time in a zone such as Europe/Paris, as text in RFC 3339 with the offset of that zone.',
  example: 'convert_tz(time, "Asia/Shanghai")',
  isZoned: true,
  call: perRow('propagate', (time, zone, zoneOfRule) => {
    const moment = momentAt(momentFrom(time, zoneOfRule).nanos, printed(zone));
    const { nanosecond } = partsOf(moment);
    const fraction = nanosecond === 0 ? '' : `.${String(nanosecond).padStart(9, '0').replace(/0+$/, '')}`;
    const offset = moment.offset === 0 ? 'Z' : offsetText(moment.offset, ':');
    return `${printTime(moment, "yyyy-MM-dd'T'HH:mm:ss")}${fraction}${offset}`;
  }),
});
