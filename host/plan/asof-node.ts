/** The node of an as-of join: what rows are of themselves and what their partners bring. */
import { col, type NodePlan, type Operand } from '../../kernels/ir.js';
import { chainOf, hasWatermark, type Logical } from './logical.js';
import { type Path, ProgramBuilder } from './program.js';
import type { Value } from './value.js';

/** A value that is needed above, by the operand of the batch that has it. */
interface Kept {
  readonly value: Value;
  readonly operand: Operand;
}

interface Place {
  readonly path: Path;
  /** What stands above needs of the rows. */
  readonly kept: readonly Kept[];
  /** The source that a value comes from. */
  readonly ownerOf: (value: Value) => number | undefined;
  readonly ttlMs: number;
}

/** Plans the node: its columns are those of the merge, then what is needed of the rows, then what is needed of their partners. */
export function asofNode(
  node: Extract<Logical, { kind: 'asof' }>,
  { path, kept, ownerOf, ttlMs }: Place,
): { plan: NodePlan; columns: (Value | null)[] } {
  const [bottom] = chainOf(node);
  if (bottom?.kind !== 'merge') throw new Error('an as-of join of rows that come by no merge');
  const branchOf = (source: number): number => bottom.sources.findIndex(({ index }) => index === source);
  const isField = ({ value }: Kept): boolean => ownerOf(value) === node.source.index;
  const builder = new ProgramBuilder(path);
  const keys = node.keys.map(({ left, right }) => ({ left: builder.operand(left), right: builder.operand(right) }));
  const fields = kept.filter(isField);
  const own = kept.filter((one) => !isField(one));
  const plan: NodePlan = {
    kind: 'asof',
    input: path.input,
    program: builder.finishOrNull(),
    branches: { type: node.type, left: branchOf(node.left.index), right: branchOf(node.source.index) },
    time: hasWatermark(node) ? path.columns : null,
    keys,
    // Number of the branch and time stamp stay where the merge has them.
    columns: [col(0), col(1), ...own.map(({ operand }) => operand)],
    fields: fields.map(({ operand }) => operand),
    bounds: { toleranceMs: node.toleranceMs, ttlMs: node.keys.length === 0 ? 0 : ttlMs },
    name: 'join',
  };
  return { plan, columns: [null, null, ...own.map(({ value }) => value), ...fields.map(({ value }) => value)] };
}
