/** The node of a join: the branches that its rows are of, its steps, what it keeps of tables. */
import type { JoinStep, NodePlan, Operand } from '../../kernels/ir.js';
import { col, NONE } from '../../kernels/ir.js';
import { equalities, streamsOf, tablesOf } from './join.js';
import { type Logical, levelOf } from './logical.js';
import { type Path, ProgramBuilder } from './program.js';
import type { ColumnValue, Value } from './value.js';

/** Columns that a merge node puts before those of its branches. */
export const mergeBranch = 0;
export const mergeTime = 1;

interface Place {
  /** Number of the node that is made. */
  readonly index: number;
  readonly path: Path;
  /** What the rule needs of each source. */
  readonly columns: readonly (readonly ColumnValue[])[];
  /** The source that a column of the batch comes from. */
  readonly ownerOf: (value: Value) => number | undefined;
}

interface JoinNode {
  readonly plan: NodePlan;
  readonly path: Path;
  /** The tables with their branches. */
  readonly tables: readonly { index: number; branch: number }[];
}

/** Plans the node. Tables are the branches after those of the streams, their columns stand behind the window's. */
export function joinNode(
  node: Extract<Logical, { kind: 'join' }>,
  { index: into, path, columns, ownerOf }: Place,
): JoinNode {
  const { sources, steps } = node;
  const tables = tablesOf(sources);
  const [bottom] = levelOf(node);
  const order = [...(bottom?.kind === 'merge' ? bottom.sources : streamsOf(sources)), ...tables];
  const branchOf = (source: number): number => order.findIndex(({ index }) => index === source);
  const [from] = sources;
  if (from === undefined) throw new Error('a join of no sources');
  const all = [...path.columnValues, ...tables.flatMap(({ index }) => columns[index] ?? [])];
  let pairs = path;
  const operandOf = (value: Value): Operand => {
    const operand = pairs.find(value);
    if (operand === undefined) throw new Error(`value ${value.id} is not in the batch`);
    return operand;
  };
  const plans = steps.map((step): JoinStep => {
    // Pairs are a batch of their own: what an earlier step computed does not stand in it.
    pairs = pairs.afterNew(into, all);
    const keys = equalities(step).map(({ left, right }) => ({
      leftBranch: branchOf(left.source),
      left: operandOf(left),
      right: operandOf(right),
    }));
    const { type } = step;
    const branch = branchOf(step.source);
    if (step.condition === null) return { type, branch, program: null, condition: null, keys };
    const builder = new ProgramBuilder(pairs);
    const condition = builder.operand(step.condition);
    return { type, branch, program: builder.finish(), condition, keys };
  });
  const plan: NodePlan = {
    kind: 'join',
    input: path.input,
    program: null,
    branch: order.length - tables.length > 1 ? col(0) : NONE,
    branches: order.map(({ index }) =>
      all.flatMap((value, i) => (value !== null && ownerOf(value) === index ? [i] : [])),
    ),
    first: branchOf(from.index),
    steps: plans,
    columns: all.length,
    tables: tables.map(({ index, retainRows }) => ({ branch: branchOf(index), retainRows })),
    name: 'join',
  };
  return {
    plan,
    path: pairs.afterNew(into, all),
    tables: tables.map(({ index }) => ({ index, branch: branchOf(index) })),
  };
}

/** Plans what gives the rows at the place of the path to a merge or join. */
export function portNode(
  path: Path,
  values: readonly (Value | null)[],
  into: number,
  branch: number,
  time: Value | null,
): NodePlan {
  const builder = new ProgramBuilder(path);
  const columns = values.map((value, i) => (value === null ? col(i) : builder.operand(value)));
  const timestamp = time === null ? undefined : builder.operand(time);
  const program = builder.finishOrNull();
  const port: NodePlan = { kind: 'port', input: path.input, into, branch, program, columns, name: 'port' };
  return timestamp === undefined ? port : { ...port, timestamp };
}
