import { defineFunction } from '../define.js';

/**
 * @example
 * {"a":1} => 1
 */
export default defineFunction({
  name: 'delay',
  category: 'misc',
  args: [
    { name: 'milliseconds', type: 'number' },
    { name: 'value', type: 'any' },
  ],
  returns: 'any',
  nulls: 'propagate',
  doc: 'The value. Its row waits so long before it goes on, and later rows wait for it. Other rules do not.',
  example: 'delay(500, a)',
  special: 'delay',
});
