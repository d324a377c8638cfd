import { defineFunction } from '../define.js';

/**
 * @example
 * {"temperature":20}
 * {"temperature":21}
 * {"temperature":24}
 * => 24
 */
export default defineFunction({
  name: 'lead',
  category: 'aggregate',
  args: [
    { name: 'value', type: 'any' },
    { name: 'offset', type: 'int', optional: true },
    { name: 'default', type: 'any', optional: true },
    { name: 'ignoreNull', type: 'boolean', optional: true },
  ],
  returns: 'any',
  nulls: 'handles',
  doc:
    'The value `offset` rows (1 unless given) after the first one of the window; the default where the window has ' +
    'no such row. Nulls are passed over unless the fourth argument is false.',
  example: 'lead(temperature, 2)',
  special: 'lead',
  check: ([, offset]) => {
    if (offset === null) return 'the offset must not be null';
    return typeof offset === 'bigint' && offset < 0n ? 'the offset must not be negative' : undefined;
  },
});
