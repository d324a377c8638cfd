/** The rows of a stream that come too late for the watermark below. */

import type { Logical } from '../logical/logical.js';
import type { NodeKind } from '../nodes/node.js';
import type { Relation } from '../values/source.js';
import type { OperatorKind } from './operator.js';

declare module '../logical/logical.js' {
  interface LogicalOperators {
    /** The rows of a stream that come too late for the watermark below; `branch`: its place among those of a merge. */
    late: { input: Logical; source: Relation; branch: number };
  }
}

export const late: OperatorKind<'late'> = {
  values: () => [],
  map: (node) => node,
  /** Late rows have two columns more: their time, and how much earlier it is than the watermark. */
  lower({ branch }, at) {
    const { input, columnValues } = at.path;
    const columns = [...columnValues, at.values.late('time'), at.values.late('by')];
    at.pushNew({ kind: 'late', input, branch, name: 'late' }, 'late', columns);
  },
  explain: ({ source }) => [['LateRowsPlan', `StreamName: ${source.name}`]],
};

export const lateNode: NodeKind<'late'> = {
  gives(node, { input, values, widthAbove, derived }) {
    const width = widthAbove(node.input);
    return derived((i) => (i <= width ? input.columnAt(i) : values.late('by')));
  },
  rows: ({ input, branch }, at) =>
    at.added(input, at.together('late', at.rowsOf(input).key, branch), 'rows that come too late'),
};
