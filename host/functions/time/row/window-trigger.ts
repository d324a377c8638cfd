import { defineFunction } from '../../define.js';

export default defineFunction({
  name: 'window_trigger',
  category: 'time',
  args: [],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Time of the row or tick that sent the window, epoch milliseconds.',
  example: 'window_trigger()',
  special: 'windowTrigger',
});
