/** Refusals of rules that are to be divided among several data planes. */
import { errorTable } from '../../base/errors.js';

export const parallelErrors = errorTable('parallel', {
  refused: ['plan', (reason: string) => `option parallelism: ${reason}`],
  divided: ['state', (id: string, what: string) => `rule ${id} is divided by partitions: ${what}`],
  partitions: [
    'plan',
    (stream: string, count: number) =>
      `option parallelism: stream ${stream} has ${count} partitions, so it has to be ${count}`,
  ],
  division: [
    'state',
    (id: string) =>
      `rule ${id} can't be divided otherwise by an update, since the place of each partition would be lost: ` +
      'delete it, and create it again',
  ],
  kept: [
    'state',
    (id: string, before: string, now: string) =>
      `rule ${id} can't be divided otherwise by an update, since its state would be lost (it is divided by ` +
      `${before}, and would be by ${now}): delete it, and create it again`,
  ],
  unread: ['general', () => 'the state of its parts could not be looked for: the data plane did not answer'],
  traced: ['state', (id: string) => `rule ${id} is divided into parts: it can't be traced`],
});
