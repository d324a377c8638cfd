/** Cuts a message after a number of rows. */

import type { Logical } from '../logical/logical.js';
import type { NodeKind } from '../nodes/node.js';
import type { OperatorKind } from './operator.js';

declare module '../logical/logical.js' {
  interface LogicalOperators {
    limit: { input: Logical; count: number };
  }
}

export const limit: OperatorKind<'limit'> = {
  values: () => [],
  map: (node) => node,
  lower({ count }, at) {
    at.push({ kind: 'limit', input: at.path.input, count, name: 'limit' }, null);
  },
  explain: ({ count }) => [['LimitPlan', `Count:${count}`]],
};

export const limitNode: NodeKind<'limit'> = {
  rows: ({ input, count }, at) => at.added(input, at.together('limit', at.rowsOf(input).key, count), `LIMIT ${count}`),
};
