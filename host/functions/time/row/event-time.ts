import { defineFunction } from '../../define.js';

export default defineFunction({
  name: 'event_time',
  category: 'time',
  args: [],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Timestamp of the row, epoch milliseconds; beside aggregates the end of the window.',
  example: 'event_time()',
  special: 'eventTime',
});
