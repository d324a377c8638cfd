/** Rows that can't be written or asked for. */
import { errorTable } from '../../base/errors.js';

export const sqlErrors = errorTable('sqlConnector', {
  away: ['connection', (reason: string) => reason],
  noObject: ['sink', 'the message is no JSON of an object or of a list of objects'],
  noMembers: ['sink', 'the row has no members'],
  noColumn: ['sink', (table: string, name: string) => `the table ${table} has no column ${name}`],
  noKey: ['sink', (name: string) => `the row has no member ${name} for keyField`],
  kind: ['sink', (name: string, value: string) => `${name} is ${value}, expected insert, update, upsert or delete`],
  noIndex: ['config', (name: string) => `the template names ${name}, which is no indexField`],
  noQuery: ['config', 'templateSql must be a query: it begins with SELECT, WITH or VALUES'],
  templateValue: [
    'plan',
    (name: string) => `the value of ${name} has letters that can't stand in a template outside of a comparison`,
  ],
});
