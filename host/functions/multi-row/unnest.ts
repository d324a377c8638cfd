import { defineFunction } from '../define.js';

/**
 * @example
 * rows demo
 * {"device":"oven","readings":[180,190]}
 *
 * query unnest(readings)
 * SELECT device, unnest(readings) AS reading FROM demo
 * ----
 * [{"device":"oven","reading":180}]
 * [{"device":"oven","reading":190}]
 */
export default defineFunction({
  name: 'unnest',
  category: 'multi-row',
  args: [{ name: 'list', type: 'any' }],
  returns: 'rows',
  nulls: 'handles',
  doc:
    'A row for each element of the list, with the other columns of the SELECT. Members of an object become ' +
    'columns, which win over others of the same name; any other element is the column itself. A list without ' +
    'elements, null and what is no list are an error of the row. Stands alone in the SELECT, once.',
  example: 'unnest(readings) AS reading',
  rows: 'elements',
});
