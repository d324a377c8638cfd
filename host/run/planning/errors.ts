/** Failures of planning, on whatever thread. */
import { errorTable } from '../../base/errors.js';

export const planningErrors = errorTable('planning', {
  temporary: ['plan', (stream: string) => `stream ${stream} is temporary: only temporary rules can read it`],
  stopping: ['stopping', 'the server is stopping'],
  full: [
    'overload',
    (id: string, count: number, bound: string) =>
      `rule ${id} can't be planned now: ${count} large rules wait to be planned already, ${bound}; try again later`,
  ],
  failed: ['general', (id: string, reason: string) => `rule ${id} can't be planned: ${reason}`],
  unwanted: ['general', (id: string) => `rule ${id} was not planned: nobody waits for the answer any more`],
});
