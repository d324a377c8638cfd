/** A node of a plan as the kernel takes it: kind, program and spec as bytes with operands linked to the input batch. */

import type { LinkedNode } from './api.js';
import { NodeKind as Code } from './gen/layouts.js';
import { kinds } from './nodes/gen/kinds.js';
import type { Kind, Linking, NodeKind } from './nodes/node.js';
import type { NodePlan, Operand, Program } from './plan/ir.js';
import { encodeProgram, relocateColumns, relocateOperand, startedAt } from './plan/program.js';
import { zoneNumber } from './plan/zones.js';

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
  /** See `sharingKey`; undefined until it is asked for. */
  digest?: string;
}

/** The image of an encode node, as it was made last. */
interface Known {
  readonly columnMap: readonly number[] | null;
  readonly sendError: boolean | undefined;
  readonly image: NodeImage;
}

const known = new WeakMap<NodePlan, Known>();

/** As `nodeImage`; that of an encode node is made once for the rules that have its plan in common. */
export function sharedImage(linked: LinkedNode, branches = 1): NodeImage {
  const { plan, columnMap, sendError } = linked;
  if (plan.kind !== 'encode') return nodeImage(linked, branches);
  const before = known.get(plan);
  if (before?.sendError === sendError && isSame(before?.columnMap, columnMap)) return before!.image;
  const image = nodeImage(linked, branches);
  const isOfAnyStart = plan.program?.ops.some(({ op }) => op === 'move.ruleStart') !== true;
  if (isOfAnyStart) known.set(plan, { columnMap, sendError, image });
  return image;
}

function isSame(one: readonly number[] | null | undefined, other: readonly number[] | null): boolean {
  if (!one || !other) return one === other;
  return one.length === other.length && one.every((column, i) => column === other[i]);
}

/**
 * Encodes the node. Throws RangeError when the plan does not fit the kernel's limits.
 * @param branches of the merge node above, 1 without one
 */
function nodeImage({ plan, columnMap, sendError, now, target, zone }: LinkedNode, branches = 1): NodeImage {
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
