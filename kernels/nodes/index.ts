/** A node of a plan as the kernel takes it: kind, program and spec as bytes with operands linked to the input batch. */

import type { LinkedNode } from '../api.js';
import { NodeKind as Code } from '../gen/layouts.js';
import type { Operand, Program } from '../ir.js';
import { encodeProgram, relocateColumns, relocateOperand, startedAt } from '../program.js';
import { zoneNumber } from '../zones.js';
import { analytic } from './analytic.js';
import { asof } from './asof.js';
import { dedup } from './dedup.js';
import { encode } from './encode.js';
import { eventTime } from './event-time.js';
import { expand } from './expand.js';
import { filter } from './filter.js';
import { hits } from './hits.js';
import { interval } from './interval.js';
import { join } from './join.js';
import { keyedTable } from './keyed-table.js';
import { late } from './late.js';
import { limit } from './limit.js';
import { ask, lookup } from './lookup.js';
import { merge } from './merge.js';
import type { Kind, Linking, NodeKind } from './node.js';
import { port } from './port.js';
import { sort } from './sort.js';
import { window } from './window.js';

const kinds: { readonly [K in Kind]: NodeKind<K> } = {
  filter,
  limit,
  expand,
  encode,
  window,
  eventTime,
  late,
  dedup,
  sort,
  analytic,
  hits,
  merge,
  port,
  join,
  asof,
  interval,
  keyedTable,
  lookup,
  ask,
};

function kindOf<K extends Kind>({ kind }: { kind: K }): NodeKind<K> {
  return kinds[kind];
}

export interface NodeImage {
  kind: number;
  program: Uint8Array | null;
  spec: Uint8Array;
  /** Rows that fail travel on as error rows. */
  sendsErrors: boolean;
  /** Equal nodes below the same parent can be one: the node keeps nothing from batch to batch, or the same for all. */
  isShareable: boolean;
}

/**
 * Encodes the node. Throws RangeError when the plan does not fit the kernel's limits.
 * @param branches of the merge node above, 1 without one
 */
export function nodeImage({ plan, columnMap, sendError, now, target, zone }: LinkedNode, branches = 1): NodeImage {
  const start = now ?? Date.now();
  const kind = kindOf(plan);
  const link: Linking = {
    columnMap,
    branches,
    target: target ?? 0,
    zone: zoneNumber(zone ?? 'UTC'),
    operand: (value: Operand) => (columnMap === null ? value : relocateOperand(value, columnMap)),
    started: (part) => (part.program === null ? part : { ...part, program: startedAt(part.program, start) }),
  };
  const program = programOf('program' in plan ? (plan.program ?? null) : null, columnMap, start);
  const sends = sendError ?? (plan.kind === 'encode' && plan.output.sendError);
  return {
    kind: Code[plan.kind],
    program,
    spec: kind.spec(plan, link),
    sendsErrors: sends && kind.keepsErrors !== true,
    isShareable: kind.isShareable?.(plan) ?? false,
  };
}

/** The program as bytes; null where there is nothing to compute and no constant. */
function programOf(program: Program | null, columnMap: LinkedNode['columnMap'], start: number): Uint8Array | null {
  if (program === null || (program.ops.length === 0 && program.consts.length === 0)) return null;
  return encodeProgram(startedAt(relocateColumns(program, columnMap), start));
}
