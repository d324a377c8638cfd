import { sortKey, sortSpec } from '../gen/layouts.js';
import { put } from '../memory/layout.js';
import type { NodeInput, NodePlan, Operand, Program } from '../plan/ir.js';
import type { NodeKind } from './node.js';

declare module '../plan/ir.js' {
  interface NodePlans {
    /**
     * Orders the rows of a message; carries `columns` columns through unchanged, then the values `carried`, registers,
     * as further columns. Rows that are no parts of messages pass as they are, registers too. Linked to a stream
     * (columnMap), the batch keeps the stream's numbering: as many columns are carried as the map reaches.
     */
    sort: {
      input: NodeInput;
      program: Program | null;
      keys: { operand: Operand; descending: boolean }[];
      columns: number;
      carried?: Operand[];
    };
  }
}

export const sort: NodeKind<'sort'> = {
  traits: { passesColumns: true, passesRows: false, keepsRows: false, worksOnMany: true },
  spec: (plan, { operand }) =>
    encodeSort({ ...plan, keys: plan.keys.map((key) => ({ ...key, operand: operand(key.operand) })) }),
};

/** Describes a sort node. */
function encodeSort(plan: Extract<NodePlan, { kind: 'sort' }>): Uint8Array {
  const carried = plan.carried ?? [];
  const carriedAt = sortSpec.size + sortKey.size * plan.keys.length;
  const bytes = new Uint8Array((carriedAt + 2 * carried.length + 3) & ~3);
  const view = new DataView(bytes.buffer);
  put(view, 0, sortSpec, { keys: plan.keys.length, columns: plan.columns, carried: carried.length });
  carried.forEach((operand, i) => {
    view.setUint16(carriedAt + 2 * i, operand, true);
  });
  plan.keys.forEach(({ operand, descending }, i) => {
    put(view, sortSpec.size + i * sortKey.size, sortKey, { operand, descending: descending ? 1 : 0 });
  });
  return bytes;
}
