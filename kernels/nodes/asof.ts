/**
 * Binary description of as-of joins as assembly/join/asof/asof.ts reads it; operands are those of the batch that the
 * node reads.
 */
import { asofSpec } from '../gen/layouts.js';
import { put } from '../memory/layout.js';
import { NONE, type NodeInput, type NodePlan, type Operand, type Program } from '../plan/ir.js';
import type { NodeKind } from './node.js';

declare module '../plan/ir.js' {
  interface NodePlans {
    /**
     * Joins each row of branch `left` of a merge with the newest of `right` that is no later (by column `time`, which
     * event time has added; null: as they come) and at most `toleranceMs` older, among those with equal `keys`; other
     * rows pass. Column i of the output is `columns[i]` of the row, then come the `fields` of its partner, MISSING
     * without one, and in event time the time. A row is kept until nothing came for its key for `ttlMs` by the clock,
     * 0: for ever; of each key the newest.
     */
    asof: {
      input: NodeInput;
      program: Program | null;
      branches: { type: 'inner' | 'left'; left: number; right: number };
      time: number | null;
      keys: { left: Operand; right: Operand }[];
      columns: Operand[];
      fields: Operand[];
      bounds: { toleranceMs: number | null; ttlMs: number };
    };
  }
}

const maxColumns = 1200;
const maxKeys = 64;

export const asof: NodeKind<'asof'> = {
  traits: { passesColumns: false, passesRows: true, keepsRows: true, worksOnMany: false, keepsPartitions: true },
  spec: (plan, { operand }) =>
    encodeAsof({
      ...plan,
      keys: plan.keys.map(({ left, right }) => ({ left: operand(left), right: operand(right) })),
      columns: plan.columns.map(operand),
      fields: plan.fields.map(operand),
    }),
};

function encodeAsof(plan: Extract<NodePlan, { kind: 'asof' }>): Uint8Array {
  const { branches, keys, columns, fields, bounds } = plan;
  if (columns.length + fields.length > maxColumns) {
    throw new RangeError(`a join has at most ${maxColumns} columns, not ${columns.length + fields.length}`);
  }
  if (keys.length > maxKeys) throw new RangeError(`a join has at most ${maxKeys} equalities, not ${keys.length}`);
  const operands = [...keys.map(({ left }) => left), ...keys.map(({ right }) => right), ...columns, ...fields];
  const bytes = new Uint8Array((asofSpec.size + 2 * operands.length + 7) & ~7);
  const view = new DataView(bytes.buffer);
  const columnsAt = asofSpec.size + 4 * keys.length;
  put(view, 0, asofSpec, {
    left: branches.left,
    right: branches.right,
    isLeft: branches.type === 'left' ? 1 : 0,
    time: plan.time ?? NONE,
    keys: keys.length,
    keysAt: asofSpec.size,
    columns: columns.length,
    columnsAt,
    fields: fields.length,
    fieldsAt: columnsAt + 2 * columns.length,
    tolerance: bounds.toleranceMs ?? Number.POSITIVE_INFINITY,
    ttl: bounds.ttlMs,
  });
  operands.forEach((operand, i) => {
    view.setUint16(asofSpec.size + 2 * i, operand, true);
  });
  return bytes;
}
