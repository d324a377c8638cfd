import { defineFunction } from '../../define.js';

export default defineFunction({
  name: 'window_start',
  category: 'time',
  args: [],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Start of the window, epoch milliseconds; of the first tumbling or hopping one since when it was there.',
  example: 'window_start()',
  special: 'windowStart',
});
