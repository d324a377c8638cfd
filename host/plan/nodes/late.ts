import type { NodeKind } from './node.js';

export const late: NodeKind<'late'> = {
  show: ({ branch }) => [`too late of branch ${branch}`],
  gives(node, { input, values, widthAbove, derived }) {
    const width = widthAbove(node.input);
    return derived((i) => (i <= width ? input.columnAt(i) : values.late('by')));
  },
  rows: ({ input, branch }, at) =>
    at.added(input, at.together('late', at.rowsOf(input).key, branch), 'rows that come too late'),
};
