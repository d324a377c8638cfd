/** The node that makes several rows of one. */
import type { NodePlan } from '../../kernels/ir.js';
import type { Logical } from './logical.js';
import { type Path, ProgramBuilder } from './program.js';
import { type Value, withoutItem } from './value.js';

/**
 * What is the same for all rows that are made of one is computed before: the columns, behind which the element stands.
 * @param above values that are computed above
 */
export function expandNode(
  { list, of, most }: Extract<Logical, { kind: 'expand' }>,
  path: Path,
  above: readonly Value[],
): { plan: NodePlan; columns: readonly Value[] } {
  const kept = withoutItem(...above);
  const builder = new ProgramBuilder(path);
  const operand = builder.operand(list);
  const columns = kept.map((value) => builder.operand(value));
  const plan: NodePlan = {
    kind: 'expand',
    input: path.input,
    program: builder.finishOrNull(),
    list: operand,
    of,
    most: most ?? Number.MAX_SAFE_INTEGER,
    columns,
    name: 'expand',
  };
  return { plan, columns: kept };
}
