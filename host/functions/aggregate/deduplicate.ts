import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'deduplicate',
  category: 'aggregate',
  args: [
    { name: 'value', type: 'any' },
    { name: 'all', type: 'boolean' },
  ],
  returns: 'array',
  nulls: 'handles',
  doc: 'Rows without repeated values; with false only the last row, and only if its value is new.',
  example: 'deduplicate(device, true)',
  aggregate: 'deduplicate',
});
