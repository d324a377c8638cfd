/** Cuts a message after a number of rows. */
import type { OperatorKind } from './operator.js';

export const limit: OperatorKind<'limit'> = {
  values: () => [],
  map: (node) => node,
  lower({ count }, at) {
    at.push({ kind: 'limit', input: at.path.input, count, name: 'limit' }, null);
  },
  explain: ({ count }) => [['LimitPlan', `Count:${count}`]],
};
