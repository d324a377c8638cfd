import { lateSpec } from '../gen/layouts.js';
import { block } from '../memory/layout.js';
import type { NodeInput } from '../plan/ir.js';
import type { NodeKind } from './node.js';

declare module '../plan/ir.js' {
  interface NodePlans {
    /**
     * Takes what comes too late for the eventTime node that is its input, of one of several branches of a merge above
     * that. Columns as that node's, time included; one more follows: how much earlier that time is than the watermark
     * was, ms as I64.
     */
    late: { input: NodeInput; branch: number };
  }
}

export const late: NodeKind<'late'> = {
  traits: { passesColumns: false, passesRows: true, keepsRows: false, worksOnMany: false },
  spec: ({ branch }) => block(lateSpec, { branch }),
};
