import { defineFunction } from '../../define.js';

export default defineFunction({
  name: 'window_end',
  category: 'time',
  args: [],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'End of the window, epoch milliseconds.',
  example: 'window_end()',
  special: 'windowEnd',
});
