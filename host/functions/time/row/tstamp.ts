import { defineFunction } from '../../define.js';

export default defineFunction({
  name: 'tstamp',
  category: 'time',
  args: [],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Time at which the row arrived or the window was sent, epoch milliseconds.',
  example: 'tstamp()',
  isVolatile: true,
  special: 'tstamp',
});
