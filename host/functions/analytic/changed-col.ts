import { defineFunction } from '../define.js';

/**
 * @example
 * {"status":"up"} => "up"
 * {"status":"up","n":2} => none
 * {"status":"down"} => "down"
 */
export default defineFunction({
  name: 'changed_col',
  category: 'analytic',
  args: [
    { name: 'ignoreNull', type: 'boolean' },
    { name: 'value', type: 'any' },
  ],
  returns: 'any',
  nulls: 'handles',
  doc: 'The value where it differs from the one before, else null. With true as first argument nulls are no change.',
  example: 'changed_col(true, status)',
  analytic: 'changedCol',
});
