/** Rows that can't be inserted. */
import { errorTable } from '../../base/errors.js';

export const tdengineErrors = errorTable('tdengine', {
  noTime: ['sink', (name: string) => `the row has no member ${name} for the time`],
  noField: ['sink', (name: string) => `the row has no member ${name}`],
  noColumns: ['sink', 'the row has nothing to insert'],
  column: ['sink', (name: string) => `the member ${name} has a backquote, which no column can have`],
});
