import type { NodeKind } from './node.js';

export const limit: NodeKind<'limit'> = {
  show: ({ count }) => [`first ${count}`],
  rows: ({ input, count }, at) => at.added(input, at.together('limit', at.rowsOf(input).key, count), `LIMIT ${count}`),
};
