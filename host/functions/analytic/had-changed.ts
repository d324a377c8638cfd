import { defineFunction } from '../define.js';

/**
 * @example
 * {"status":"up"} => true
 * {"status":"up","n":2} => false
 * {"status":"down"} => true
 */
export default defineFunction({
  name: 'had_changed',
  category: 'analytic',
  args: [
    { name: 'ignoreNull', type: 'boolean' },
    { name: 'value', type: 'any', variadic: true },
  ],
  returns: 'boolean',
  nulls: 'handles',
  doc:
    'True when one of the values differs from the one before. With true as first argument nulls are no change. `*` ' +
    'stands for all columns.',
  example: 'had_changed(true, status)',
  analytic: 'hadChanged',
});
