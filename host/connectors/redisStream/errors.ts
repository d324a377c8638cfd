/** Streams and rows that can't be used. */
import { errorTable } from '../../base/errors.js';

export const redisStreamErrors = errorTable('redisStream', {
  position: ['config', 'it is no position of a Redis stream'],
  connection: ['connection', (reason: string) => reason],
  noObject: ['sink', 'the message is no JSON of an object, whose members are the fields of an entry'],
  noMembers: ['sink', 'the row has no members, and an entry has at least one field'],
});
