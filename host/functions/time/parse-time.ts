import { Instant } from '../../../kernels/values/value.js';
import { momentFrom } from '../calendar/moment.js';
import { readTime } from '../calendar/time-format.js';
import { defineFunction, perRow } from '../define.js';
import { printed } from '../printing/printed.js';

/**
 * @example
 * {"text":"28/11/2026 12:34:56"} => "2026-11-28T12:34:56Z"
 */
export default defineFunction({
  name: 'parse_time',
  category: 'datetime',
  args: [
    { name: 'text', type: 'any', takes: ['datetime'] },
    { name: 'format', type: 'string' },
  ],
  returns: 'datetime',
  nulls: 'propagate',
  doc: 'Reads a text by a pattern, or in a common form of times; numbers are epoch milliseconds.',
  example: 'parse_time(text, "dd/MM/yyyy HH:mm:ss")',
  isZoned: true,
  call: perRow('propagate', (value, format, zone) => {
    const source = printed(format);
    const moment = typeof value === 'string' ? readTime(value, source, zone) : undefined;
    if (moment !== undefined) return new Instant(moment.nanos, moment.offset);
    try {
      const { nanos, offset } = momentFrom(value, zone);
      return new Instant(nanos, offset);
    } catch (error) {
      if (typeof value !== 'string') throw error;
      throw new Error(`'${value}' is no time of the format ${source}`);
    }
  }),
});
