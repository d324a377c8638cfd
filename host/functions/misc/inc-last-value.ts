import { defineFunction } from '../define.js';

/**
 * @example
 * {"power":2} => 2
 * {"power":4} => 4
 */
export default defineFunction({
  name: 'inc_last_value',
  category: 'misc',
  args: [
    { name: 'value', type: 'any' },
    { name: 'ignoreNull', type: 'boolean' },
  ],
  returns: 'any',
  nulls: 'propagate',
  doc: 'The value of the row, which is the last one; null where it is null.',
  example: 'inc_last_value(power, true)',
  special: 'incLastValue',
});
