import { defineFunction } from '../define.js';

/**
 * @example
 * rows demo
 * {"temp":20}
 * {"temp":30}
 * {"temp":31}
 *
 * query last_hit_count()
 * SELECT temp, last_hit_count() AS before FROM demo WHERE temp > 25
 * ----
 * [{"before":0,"temp":30}]
 * [{"before":1,"temp":31}]
 */
export default defineFunction({
  name: 'last_hit_count',
  category: 'misc',
  args: [],
  returns: 'bigint',
  nulls: 'handles',
  doc:
    'How many rows got past WHERE before; where WHERE itself asks, rows are judged one after the other. Without a ' +
    'window only.',
  example: 'last_hit_count()',
  special: 'hitCount',
});
