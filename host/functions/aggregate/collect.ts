import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'collect',
  category: 'aggregate',
  args: [{ name: 'value', type: 'any' }],
  returns: 'array',
  nulls: 'handles',
  doc: 'All values of the window as an array, nulls included; collect(*) collects rows.',
  example: 'collect(device)',
  aggregate: 'collect',
});
