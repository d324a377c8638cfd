/** The node that orders the rows of a message. */
import type { NodePlan } from '../../kernels/ir.js';
import type { Logical } from './logical.js';
import { type Path, ProgramBuilder } from './program.js';

/** Plans the node; null where all keys are constants, which order nothing. */
export function sortNode(
  node: Extract<Logical, { kind: 'sort' }>,
  path: Path,
): Extract<NodePlan, { kind: 'sort' }> | null {
  const builder = new ProgramBuilder(path);
  const keys = node.keys
    .filter(({ value }) => value.kind !== 'const')
    .map(({ value, descending }) => ({ operand: builder.operand(value), descending }));
  if (keys.length === 0) return null;
  return {
    kind: 'sort',
    input: path.input,
    program: builder.finishOrNull(),
    keys,
    columns: path.columns,
    name: 'order',
  };
}
