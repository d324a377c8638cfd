import { defineFunction } from '../define.js';

/**
 * @example
 * rows demo
 * {"device":"oven"}
 * {"device":"press"}
 *
 * query row_number()
 * SELECT row_number() AS n, device FROM demo GROUP BY COUNTWINDOW(2)
 * ----
 * [{"device":"oven","n":1},{"device":"press","n":2}]
 */
export default defineFunction({
  name: 'row_number',
  category: 'analytic',
  args: [],
  returns: 'bigint',
  nulls: 'handles',
  doc: 'Number of the row in its message, from 1, before ORDER BY; with PARTITION BY among the rows of equal keys.',
  example: 'row_number()',
  analytic: 'rowNumber',
});
