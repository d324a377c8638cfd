/** Rows that can't be set or looked up. */
import { errorTable } from '../../base/errors.js';

export const redisErrors = errorTable('redis', {
  noKeyMember: ['sink', (name: string) => `the row has no member ${name} for the key`],
  noObject: ['sink', 'the message is no JSON of an object, which names its key'],
  kind: ['sink', (name: string, value: string) => `${name} is ${value}, expected insert, update, upsert or delete`],
  severalColumns: ['plan', (names: string) => `a Redis table is looked up by one column, not by ${names}`],
  noRow: ['codec', 'what the key has is no JSON of an object'],
});
