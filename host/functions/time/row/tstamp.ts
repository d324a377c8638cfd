import { defineFunction } from '../../define.js';

/**
 * @example
 * each tstamp() > 0
 * {} => true
 */
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
