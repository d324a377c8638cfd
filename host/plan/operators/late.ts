/** The rows of a stream that come too late for the watermark below. */
import type { OperatorKind } from './operator.js';

export const late: OperatorKind<'late'> = {
  values: () => [],
  map: (node) => node,
  /** What the watermark below hands on has two columns more. */
  lower({ branch }, at) {
    const { input, columnValues } = at.path;
    const columns = [...columnValues, at.values.late('time'), at.values.late('by')];
    at.pushNew({ kind: 'late', input, branch, name: 'late' }, 'late', columns);
  },
  explain: ({ source }) => [['LateRowsPlan', `StreamName: ${source.name}`]],
};
