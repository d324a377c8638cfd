/** The nodes of joins by time (as-of, interval): what rows are of themselves and what their partners bring. */
import { col, type NodePlan, type Operand } from '../../kernels/ir.js';
import { hasWatermark, type Logical, levelOf } from './logical.js';
import { type Path, ProgramBuilder } from './program.js';
import type { Value, Values } from './value.js';

export type TimedJoin = Extract<Logical, { kind: 'asof' | 'interval' }>;

/** A value that is needed above, by the operand of the batch that has it. */
interface Kept {
  readonly value: Value;
  readonly operand: Operand;
}

interface Place {
  /** Number of the node that is made. */
  readonly index: number;
  readonly path: Path;
  /** What stands above, and the condition, need of the rows. */
  readonly kept: readonly Kept[];
  /** The source that a value comes from. */
  readonly ownerOf: (value: Value) => number | undefined;
  readonly ttlMs: number;
  readonly values: Values;
}

interface TimedNode {
  readonly plan: NodePlan;
  /** Behind the node. */
  readonly path: Path;
}

/** Plans the node. */
export function timedJoinNode(node: TimedJoin, place: Place): TimedNode {
  return node.kind === 'asof' ? asofNode(node, place) : intervalNode(node, place);
}

/** Its columns are those of the merge, then what is needed of the rows, then what is needed of their partners, in event time their time. */
function asofNode(node: Extract<Logical, { kind: 'asof' }>, { index, path, kept, ownerOf, ttlMs }: Place): TimedNode {
  const isField = ({ value }: Kept): boolean => ownerOf(value) === node.source.index;
  const builder = new ProgramBuilder(path);
  const keys = keysOf(node, builder);
  const fields = kept.filter(isField);
  const own = kept.filter((one) => !isField(one));
  const plan: NodePlan = {
    kind: 'asof',
    input: path.input,
    program: builder.finishOrNull(),
    branches: { type: node.type, left: branchOf(node, node.left.index), right: branchOf(node, node.source.index) },
    time: hasWatermark(node) ? path.columns : null,
    keys,
    // Number of the branch and time stamp stay where the merge has them.
    columns: [col(0), col(1), ...own.map(({ operand }) => operand)],
    fields: fields.map(({ operand }) => operand),
    bounds: { toleranceMs: node.toleranceMs, ttlMs: node.keys.length === 0 ? 0 : ttlMs },
    name: 'join',
  };
  const columns = [null, null, ...own, ...fields].map((one) => one?.value ?? null);
  return { plan, path: path.afterNew(index, columns) };
}

/** Its columns are what is needed of rows of the left, then of those of the right, then the time. */
function intervalNode(
  node: Extract<Logical, { kind: 'interval' }>,
  { index, path, kept, ownerOf, values }: Place,
): TimedNode {
  const isRight = ({ value }: Kept): boolean => ownerOf(value) === node.source.index;
  const builder = new ProgramBuilder(path);
  const keys = keysOf(node, builder);
  const rights = kept.filter(isRight);
  const lefts = kept.filter((one) => !isRight(one));
  const columns = [...lefts, ...rights].map(({ value }) => value);
  const plan: Extract<NodePlan, { kind: 'interval' }> = {
    kind: 'interval',
    input: path.input,
    program: builder.finishOrNull(),
    type: node.type,
    left: branchOf(node, node.left.index),
    time: path.columns,
    keys,
    lefts: lefts.map(({ operand }) => operand),
    rights: rights.map(({ operand }) => operand),
    bounds: { leastMs: node.leastMs, mostMs: node.mostMs },
    condition: null,
    name: 'join',
  };
  let after = path.afterNew(index, columns);
  if (node.condition !== null) {
    // What the condition computes nobody below sees: it belongs to pairs, not all of which go on.
    const pair = new ProgramBuilder(after);
    const operand = pair.operand(node.condition);
    plan.condition = { program: pair.finish(), operand };
    after = after.afterNew(index, columns);
  }
  for (const part of ['end', 'trigger'] as const) after.keep(values.window(part), col(columns.length));
  return { plan, path: after };
}

function keysOf({ keys }: TimedJoin, builder: ProgramBuilder): { left: Operand; right: Operand }[] {
  return keys.map(({ left, right }) => ({ left: builder.operand(left), right: builder.operand(right) }));
}

/** The branch of a source in the merge by which the rows come. */
function branchOf(node: TimedJoin, source: number): number {
  const [bottom] = levelOf(node);
  if (bottom?.kind !== 'merge') throw new Error('a join by time of rows that come by no merge');
  return bottom.sources.findIndex(({ index }) => index === source);
}
