import { defineAggregate } from '../define.js';

export default defineAggregate('deduplicate', {
  args: [
    { name: 'value', type: 'any' },
    { name: 'all', type: 'boolean' },
  ],
  returns: 'any',
  doc: 'Rows without repeated values; with false only the last row, and only if its value is new.',
  example: 'deduplicate(device, true)',
});
