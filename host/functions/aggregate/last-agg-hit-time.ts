import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'last_agg_hit_time',
  category: 'aggregate',
  args: [],
  returns: 'bigint',
  nulls: 'handles',
  doc:
    'End of the newest window before that was sent, epoch milliseconds, 0 before the first; in HAVING: of which a ' +
    'group got past it.',
  example: 'last_agg_hit_time()',
  special: 'windowHitTime',
});
