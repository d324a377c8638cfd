/** Subjects, streams and rows that can't be used. */
import { errorTable } from '../../base/errors.js';

export const natsErrors = errorTable('nats', {
  noSubject: ['config', 'a nats source needs a DATASOURCE with the subject, or property stream or bucket'],
  connection: ['connection', (reason: string) => reason],
  /** The consumer was made by somebody else, so that it can't be used. */
  consumer: [
    'config',
    (name: string, policy: string) =>
      `nats: consumer ${name} has the acknowledgement policy ${policy}, expected explicit`,
  ],
  position: ['config', 'it is no position of a nats stream'],
  severalColumns: ['plan', (names: string) => `a bucket is looked up by one column, not by ${names}`],
  noRow: ['codec', 'what the key has is no JSON of an object'],
  partitions: ['config', (reason: string) => `DATASOURCE: ${reason}`],
});
