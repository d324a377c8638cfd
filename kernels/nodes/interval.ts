/**
 * Binary description of interval joins as assembly/join/interval/interval.ts reads it; operands are those of the
 * batch that the node reads.
 */
import { intervalSpec } from '../gen/layouts.js';
import { put } from '../memory/layout.js';
import { NONE, type NodeInput, type NodePlan, type Operand, type Program } from '../plan/ir.js';
import { encodeProgram } from '../plan/program.js';
import { columnsRead } from './join.js';
import type { NodeKind } from './node.js';

declare module '../plan/ir.js' {
  interface NodePlans {
    /**
     * Joins rows of branch `left` of a merge with those of its other branch whose `keys` are equal and whose time
     * (column `time`) less theirs is between `leastMs` and `mostMs`. Column i of the output is `lefts[i]`, then come
     * the `rights`, MISSING where there is no such row, and the time. `condition` decides on each pair besides: an
     * operand over the output with a program of its own.
     */
    interval: {
      input: NodeInput;
      program: Program | null;
      type: 'inner' | 'left' | 'right' | 'full';
      left: number;
      time: number;
      keys: { left: Operand; right: Operand }[];
      lefts: Operand[];
      rights: Operand[];
      bounds: { leastMs: number; mostMs: number };
      condition: { program: Program; operand: Operand } | null;
    };
  }
}

const maxColumns = 1200;
const maxKeys = 64;

export const interval: NodeKind<'interval'> = {
  traits: { passesColumns: false, passesRows: true, keepsRows: true, worksOnMany: true },
  spec: (plan, { operand, started }) =>
    encodeInterval({
      ...plan,
      keys: plan.keys.map(({ left, right }) => ({ left: operand(left), right: operand(right) })),
      lefts: plan.lefts.map(operand),
      rights: plan.rights.map(operand),
      condition: plan.condition && started(plan.condition),
    }),
};

function encodeInterval(plan: Extract<NodePlan, { kind: 'interval' }>): Uint8Array {
  const { type, left, time, keys, lefts, rights, bounds, condition } = plan;
  if (lefts.length + rights.length > maxColumns) {
    throw new RangeError(`a join has at most ${maxColumns} columns, not ${lefts.length + rights.length}`);
  }
  if (keys.length > maxKeys) throw new RangeError(`a join has at most ${maxKeys} equalities, not ${keys.length}`);
  const code = condition === null ? new Uint8Array(0) : encodeProgram(condition.program);
  const reads = condition === null ? [] : columnsRead(condition.program, condition.operand);
  const lists = [[...keys.map((key) => key.left), ...keys.map((key) => key.right)], lefts, rights, reads];
  const starts: number[] = [];
  let end = intervalSpec.size;
  for (const list of lists) {
    starts.push(end);
    end += 2 * list.length;
  }
  const [keysAt = 0, leftsAt = 0, rightsAt = 0, readsAt = 0] = starts;
  const codeAt = (end + 15) & ~15;
  const bytes = new Uint8Array(codeAt + code.length);
  const view = new DataView(bytes.buffer);
  put(view, 0, intervalSpec, {
    left,
    keepsLeft: type === 'left' || type === 'full' ? 1 : 0,
    keepsRight: type === 'right' || type === 'full' ? 1 : 0,
    time,
    keys: keys.length,
    keysAt,
    lefts: lefts.length,
    leftsAt,
    rights: rights.length,
    rightsAt,
    condition: condition?.operand ?? NONE,
    reads: reads.length,
    readsAt,
    code: codeAt,
    codeLen: code.length,
    least: bounds.leastMs,
    most: bounds.mostMs,
  });
  lists.flat().forEach((operand, i) => {
    view.setUint16(intervalSpec.size + 2 * i, operand, true);
  });
  bytes.set(code, codeAt);
  return bytes;
}
