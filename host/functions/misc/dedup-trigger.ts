import { defineFunction } from '../define.js';

/**
 * @example
 * {"begin":0,"finish":10000,"ts":10000} => [{"end_key":"10000","start_key":"0"}]
 * {"begin":5000,"finish":15000,"ts":15000} => [{"end_key":"15000","start_key":"10000"}]
 */
export default defineFunction({
  name: 'dedup_trigger',
  category: 'misc',
  args: [
    { name: 'start', type: 'any' },
    { name: 'end', type: 'any' },
    { name: 'now', type: 'any' },
    { name: 'expire', type: 'int' },
  ],
  returns: 'array',
  nulls: 'handles',
  doc:
    'The parts of the time from `start` to `end` that no row before was given, as objects with start_key and ' +
    'end_key (texts); null when there are none, or when they lie more than `expire` before `now`. All are integers ' +
    'of one unit, milliseconds; a row waits until the `now` of rows, and the clock between them, has come to its ' +
    '`end`. Only as an item of SELECT without a window.',
  example: 'dedup_trigger(begin, finish, ts, 60000)',
  special: 'dedupTrigger',
});
