/** Refusals of rules that are to be divided among several data planes. */
import { errorTable } from '../../base/errors.js';

export const parallelErrors = errorTable('parallel', {
  refused: ['plan', (reason: string) => `option parallelism: ${reason}`],
  reset: ['general', (id: string) => `rule ${id} is divided into parts: its source can't be reset`],
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
  traced: ['state', (id: string) => `rule ${id} is divided into parts: it can't be traced`],
});
