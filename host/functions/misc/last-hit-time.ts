import { defineFunction } from '../define.js';

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
