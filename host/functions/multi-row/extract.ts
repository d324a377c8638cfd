import { defineFunction } from '../define.js';

/**
 * @example
 * rows demo
 * {"device":"oven","payload":{"temp":180,"fan":true}}
 *
 * query extract(payload)
 * SELECT device, extract(payload) FROM demo
 * ----
 * [{"device":"oven","fan":true,"temp":180}]
 */
export default defineFunction({
  name: 'extract',
  category: 'multi-row',
  args: [{ name: 'object', type: 'any' }],
  returns: 'columns',
  nulls: 'handles',
  doc:
    'The members of the object as columns, which win over others of the same name. An object without members, null ' +
    'and what is no object are an error of the row. Stands alone in the SELECT, once.',
  example: 'extract(payload)',
  rows: 'members',
});
