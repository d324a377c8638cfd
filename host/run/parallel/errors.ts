/** Refusals of rules that are to be divided among several data planes. */
import { errorTable } from '../../base/errors.js';

export const parallelErrors = errorTable('parallel', {
  refused: ['plan', (reason: string) => `option parallelism: ${reason}`],
  reset: ['general', (id: string) => `rule ${id} is divided into parts: its source can't be reset`],
  traced: ['state', (id: string) => `rule ${id} is divided into parts: it can't be traced`],
});
