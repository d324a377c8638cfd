import { limitSpec } from '../gen/layouts.js';
import { block } from '../memory/layout.js';
import type { NodeInput } from '../plan/ir.js';
import type { NodeKind } from './node.js';

declare module '../plan/ir.js' {
  interface NodePlans {
    /** Passes the first `count` rows of each message. */
    limit: { input: NodeInput; count: number };
  }
}

export const limit: NodeKind<'limit'> = {
  traits: { passesColumns: true, passesRows: true, keepsRows: false, worksOnMany: false },
  spec({ count }) {
    if (!(Number.isInteger(count) && count >= 0))
      throw new RangeError(`LIMIT must be a whole number from 0, not ${count}`);
    return block(limitSpec, { count: Math.min(count, 0xffffffff) });
  },
};
