import { defineFunction } from '../define.js';

/**
 * @example
 * {"temperature":null} => 0
 * {"temperature":20} => 20
 * {} => 20
 */
export default defineFunction({
  name: 'latest',
  category: 'analytic',
  args: [
    { name: 'value', type: 'any' },
    { name: 'default', type: 'any', optional: true },
  ],
  returns: 'any',
  nulls: 'handles',
  doc: 'The newest value that is not null; the default as long as there was none.',
  example: 'latest(temperature, 0)',
  analytic: 'latest',
});
