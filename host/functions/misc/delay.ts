import { defineFunction } from '../define.js';

export default defineFunction({
  name: 'delay',
  category: 'misc',
  args: [
    { name: 'milliseconds', type: 'number' },
    { name: 'value', type: 'any' },
  ],
  returns: 'any',
  nulls: 'propagate',
  doc: 'The value; its row waits so long before it goes on, those that come after it wait behind it. Other rules do not.',
  example: 'delay(500, a)',
  special: 'delay',
});
