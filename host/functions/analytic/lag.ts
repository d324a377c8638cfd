import { defineFunction } from '../define.js';

/** Greatest offset; each partition keeps as many values as the offset says. */
const maxOffset = 65_536n;

/**
 * @example
 * {"device":"oven","temperature":180} => none
 * {"device":"press","temperature":20} => none
 * {"device":"oven","temperature":190} => 180
 */
export default defineFunction({
  name: 'lag',
  category: 'analytic',
  args: [
    { name: 'value', type: 'any' },
    { name: 'offset', type: 'int', optional: true },
    { name: 'default', type: 'any', optional: true },
    { name: 'ignoreNull', type: 'boolean', optional: true },
  ],
  returns: 'any',
  nulls: 'handles',
  doc:
    'The value as it was `offset` rows before (1 unless given), null or the default before there was one. Nulls ' +
    'are passed over unless the fourth argument is false.',
  example: 'lag(temperature) OVER (PARTITION BY device)',
  analytic: 'lag',
  check: ([, offset]) => {
    if (typeof offset !== 'bigint') return offset === null ? 'the offset must not be null' : undefined;
    if (offset < 0n) return 'the offset must not be negative';
    return offset > maxOffset ? `the offset must not be above ${maxOffset}` : undefined;
  },
});
