/** Makes the columns of a derived table from the output of the SELECT below. */

import type { NodePlan, Operand } from '../../../kernels/plan/ir.js';
import type { Logical } from '../logical/logical.js';
import { ProgramBuilder } from '../program/program.js';
import { showValue } from '../values/show.js';
import type { Relation } from '../values/source.js';
import type { ColumnValue, Value } from '../values/value.js';
import type { OperatorKind } from './operator.js';

declare module '../logical/logical.js' {
  interface LogicalOperators {
    /** Makes the columns of a derived table from the output of the SELECT below. */
    derive: { input: Logical; table: Relation; columns: ReadonlyMap<ColumnValue, Value> };
  }
}

export const derive: OperatorKind<'derive'> = {
  values: ({ columns }) => [...columns.values()],
  map: (node, map) => ({ ...node, columns: new Map([...node.columns].map(([column, value]) => [column, map(value)])) }),
  /** Operators above see the columns of the derived table, but not the values that these are made of. */
  lower({ columns }, at) {
    const builder = new ProgramBuilder(at.path);
    const operands = new Map<ColumnValue, Operand>();
    for (const [column, value] of columns) {
      // Constants belong to the program of one node.
      const inner = value.kind === 'const' ? at.values.op('logic.coalesce', [], [value]) : value;
      operands.set(column, builder.operand(inner));
    }
    const condition = builder.operand(at.values.constant({ tag: 'bool', value: true }));
    const program = builder.finish();
    const { input } = at.path;
    const plan: NodePlan = { kind: 'filter', input, program, condition, keepsEmpty: true, name: 'compute' };
    for (const column of columns.keys()) at.held.add(column);
    // Without operations the columns stand in the batch already.
    if (program.ops.length > 0) at.push(plan, null);
    at.path = at.path.withOnly(operands);
  },
  explain({ table, columns }, { show }) {
    const fields = [...columns].map(([column, value]) => `${show(value)} AS ${showValue(column)}`);
    return [['DerivedTablePlan', `Name:${table.name}, Fields:[ ${fields.join(', ')} ]`]];
  },
  relations: ({ table }) => [table],
};
