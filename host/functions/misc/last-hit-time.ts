import { defineFunction } from '../define.js';

/**
 * @example
 * rows demo
 * {"temp":20}
 * {"temp":30}
 * {"temp":31}
 *
 * query last_hit_time()
 * SELECT temp, last_hit_time() > 0 AS again FROM demo WHERE temp > 25
 * ----
 * [{"again":false,"temp":30}]
 * [{"again":true,"temp":31}]
 */
export default defineFunction({
  name: 'last_hit_time',
  category: 'misc',
  args: [],
  returns: 'bigint',
  nulls: 'handles',
  doc:
    'Time of the newest row before that got past WHERE, epoch milliseconds, 0 before the first: with event time ' +
    'its own, else that of its arrival. Without a window only.',
  example: 'last_hit_time()',
  special: 'hitTime',
});
