/** Orders the rows of a message. */

import type { NodePlan } from '../../../kernels/plan/ir.js';
import { isOfMessages, type Logical } from '../logical/logical.js';
import type { NodeKind } from '../nodes/node.js';
import { type Path, ProgramBuilder } from '../program/program.js';
import { isNone, windowNeeds } from '../program/window-needs.js';
import type { Value } from '../values/value.js';
import type { Of, OperatorKind } from './operator.js';

declare module '../logical/logical.js' {
  interface LogicalOperators {
    sort: { input: Logical; keys: { value: Value; descending: boolean }[] };
  }
}

export const sort: OperatorKind<'sort'> = {
  values: ({ keys }) => keys.map(({ value }) => value),
  map: (node, map) => ({ ...node, keys: node.keys.map((key) => ({ ...key, value: map(key.value) })) }),
  lower(node, at) {
    const plan = planned(node, at.path);
    if (plan === null) return;
    if (!isOfMessages(node)) {
      at.push(plan, 'order');
      return;
    }
    const { columnValues } = at.path;
    const isOwn = (value: Value): boolean => at.isHeld(value) && !columnValues.includes(value);
    const above = windowNeeds(at.valuesAbove(node), isNone, (value) => at.isHeld(value));
    const carried = above.keep.filter(isOwn);
    const operands = carried.map((value) => at.operandOf(value));
    at.pushNew(carried.length > 0 ? { ...plan, carried: operands } : plan, 'order', [...columnValues, ...carried]);
  },
  explain({ keys }, { show }) {
    const fields = keys.map(({ value, descending }) => `${show(value)} ${descending ? 'DESC' : 'ASC'}`);
    return [['OrderPlan', `SortFields:[ ${fields.join(', ')} ]`]];
  },
  keeps: () => 'the rows of one message',
};

/** The node; null where all keys are constants, which order nothing. */
function planned(node: Of<'sort'>, path: Path): Extract<NodePlan, { kind: 'sort' }> | null {
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

export const sortNode: NodeKind<'sort'> = {
  gives: ({ columns, carried = [] }, { input, value, derived }) =>
    derived((i) => {
      const own = i < columns ? undefined : carried[i - columns];
      return own === undefined ? input.columnAt(i) : value(own);
    }, input),
  rows({ input, keys }, at) {
    const values = keys.map(({ operand }) => at.value(operand));
    const orders = keys.map(({ descending }) => descending);
    const key = at.together('sort', at.rowsOf(input).key, values, ...orders);
    return at.added(input, key, `ORDER BY ${at.texts(values)}`);
  },
};
