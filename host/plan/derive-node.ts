/** The node that makes the columns of a derived table. */
import type { NodePlan, Operand } from '../../kernels/ir.js';
import { type Path, ProgramBuilder } from './program.js';
import type { ColumnValue, Value, Values } from './value.js';

interface DeriveNode {
  /** Passes all rows; null where the columns stand in the batch already. */
  readonly plan: NodePlan | null;
  /** Where each column stands behind it. */
  readonly operands: ReadonlyMap<ColumnValue, Operand>;
}

/** Plans the node behind the place. */
export function deriveNode(columns: ReadonlyMap<ColumnValue, Value>, path: Path, values: Values): DeriveNode {
  const builder = new ProgramBuilder(path);
  const operands = new Map<ColumnValue, Operand>();
  for (const [column, value] of columns) {
    // Constants belong to the program of one node.
    const inner = value.kind === 'const' ? values.op('logic.coalesce', [], [value]) : value;
    operands.set(column, builder.operand(inner));
  }
  const condition = builder.operand(values.constant({ tag: 'bool', value: true }));
  const program = builder.finish();
  const { input } = path;
  const isNeeded = program.ops.length > 0;
  const plan: NodePlan = { kind: 'filter', input, program, condition, keepsEmpty: true, name: 'compute' };
  return { plan: isNeeded ? plan : null, operands };
}
