/** Computes values once for all operators above: it passes all rows, the values are in registers. */

import type { Logical } from '../logical/logical.js';
import { ProgramBuilder } from '../program/program.js';
import type { Value } from '../values/value.js';
import type { OperatorKind } from './operator.js';

declare module '../logical/logical.js' {
  interface LogicalOperators {
    /** Computes values once for all operators above. */
    compute: { input: Logical; values: Value[] };
  }
}

export const compute: OperatorKind<'compute'> = {
  isStateless: true,
  values: ({ values }) => values,
  map: (node, map) => ({ ...node, values: node.values.map(map) }),
  lower({ values }, at) {
    const builder = new ProgramBuilder(at.path);
    for (const value of values) {
      builder.operand(value);
      if (value.kind === 'op') at.held.add(value);
    }
    const condition = builder.operand(at.values.constant({ tag: 'bool', value: true }));
    const program = builder.finish();
    at.push({ kind: 'filter', input: at.path.input, program, condition, keepsEmpty: true, name: 'compute' }, null);
  },
  explain: ({ values }, { all }) => [['ComputePlan', `Values:[ ${all(values)} ]`]],
};
