import { defineFunction } from '../define.js';

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
