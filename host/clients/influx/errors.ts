/** Rows that are no points. */
import { errorTable } from '../../base/errors.js';

export const influxErrors = errorTable('influx', {
  away: ['connection', (reason: string) => reason],
  noRow: ['sink', 'the message is no JSON of an object'],
  noFields: ['sink', 'the row has no value for a field'],
  noTime: ['sink', (name: string) => `the row has no member ${name} for the time`],
  time: ['sink', (name: string) => `the member ${name} is no number for the time`],
  notFinite: ['sink', (name: string) => `the field ${name} is no finite number`],
  comment: ['sink', 'the measurement begins with #, which makes a comment of the line'],
  backslash: ['sink', (what: string) => `${what} ends with a backslash, which the server can't take`],
});
