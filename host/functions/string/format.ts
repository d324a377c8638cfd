import { defineFunction, perRow } from '../define.js';
import { formatted } from '../printing/number-format.js';

/**
 * @example
 * {"temp":1234.567} => "1,234.57"
 */
export default defineFunction({
  name: 'format',
  category: 'string',
  args: [
    { name: 'number', type: 'number' },
    { name: 'decimals', type: 'int' },
    { name: 'locale', type: 'string', optional: true },
  ],
  returns: 'string',
  nulls: 'propagate',
  doc:
    'The number with so many decimals, rounded half to even; grouped and with the signs of a locale (language and ' +
    'country, such as de_DE) when there is one. Decimals and locale are literals.',
  example: "format(temp, 2, 'en_US')",
  check: ([, decimals, ...locale]) => {
    if (typeof decimals !== 'bigint') return 'argument 2 (decimals) must be an integer literal';
    return locale.every((one) => typeof one === 'string') ? undefined : 'argument 3 (locale) must be a string literal';
  },
  call: perRow('propagate', (number, decimals, locale) => formatted(number, decimals, locale)),
});
