/** Makes rows of one row, an element of a list for each. */

import type { NodePlan } from '../../../kernels/plan/ir.js';
import type { Logical } from '../logical/logical.js';
import type { NodeKind } from '../nodes/node.js';
import { ProgramBuilder } from '../program/program.js';
import { type Value, withoutItem } from '../values/value.js';
import type { OperatorKind } from './operator.js';

declare module '../logical/logical.js' {
  interface LogicalOperators {
    /** Makes rows of one row, an element of the list for each; `most`: of each row, null without a bound. */
    expand: { input: Logical; list: Value; of: 'elements' | 'members'; most: number | null };
  }
}

export const expand: OperatorKind<'expand'> = {
  isStateless: true,
  values: ({ list }) => [list],
  map: (node, map) => ({ ...node, list: map(node.list) }),
  /**
   * Values that are equal in all rows made from one are computed before it is expanded: they are the columns, and the
   * element follows them.
   */
  lower(node, at) {
    const { list, of, most } = node;
    const kept = withoutItem(...at.valuesAbove(node));
    const builder = new ProgramBuilder(at.path);
    const operand = builder.operand(list);
    const columns = kept.map((value) => builder.operand(value));
    const plan: NodePlan = {
      kind: 'expand',
      input: at.path.input,
      program: builder.finishOrNull(),
      list: operand,
      of,
      most: most ?? Number.MAX_SAFE_INTEGER,
      columns,
      name: 'expand',
    };
    at.pushNew(plan, 'project', [...kept, at.values.item()]);
  },
  explain({ of, list }, { show }) {
    const what = of === 'elements' ? 'a row for each element of' : 'the members of';
    return [['ExpandPlan', `Rows:{ ${what} ${show(list)} }`]];
  },
};

export const expandNode: NodeKind<'expand'> = {
  gives: ({ columns }, { value, values, listed }) =>
    listed([...columns.map((operand) => () => value(operand)), () => values.item()]),
  rows({ input, list, of }, at) {
    const value = at.value(list);
    const key = at.together('expand', at.rowsOf(input).key, value, of);
    return at.added(input, key, `unnest(${at.text(value)})`);
  },
};
