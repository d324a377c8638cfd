import { mergeBranch, mergeFirst, mergeSpec } from '../gen/layouts.js';
import { put } from '../memory/layout.js';
import { checkColumns } from './columns.js';
import type { NodeKind } from './node.js';

declare module '../plan/ir.js' {
  interface NodePlans {
    /**
     * Rows of several sources as one sequence, in the order of their arrival. It has no input of its own; its ports
     * give it rows. Output columns: 0 the number of the branch (I64), 1 the port's timestamp (MISSING without one),
     * then `branches[0]` columns of branch 0, `branches[1]` of branch 1 and so on; those of other branches are MISSING.
     * An eventTime node below it has a watermark that is the least of those of all branches.
     */
    merge: { input: null; branches: number[] };
  }
}

export const merge: NodeKind<'merge'> = {
  traits: { passesColumns: false, passesRows: false, keepsRows: true, worksOnMany: false },
  spec({ branches }) {
    const columns = mergeFirst + branches.reduce((sum, count) => sum + count, 0);
    checkColumns(columns);
    const bytes = new Uint8Array(mergeSpec.size + branches.length * mergeBranch.size);
    const view = new DataView(bytes.buffer);
    put(view, 0, mergeSpec, { branches: branches.length, columns });
    let first = mergeFirst;
    branches.forEach((count, i) => {
      put(view, mergeSpec.size + i * mergeBranch.size, mergeBranch, { first, columns: count });
      first += count;
    });
    return bytes;
  },
};
