import { defineFunction } from '../define.js';

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
