import type { NodeKind } from './node.js';
import { shower, showOps } from './text.js';

export const sort: NodeKind<'sort'> = {
  show({ program, keys: by, columns }) {
    const show = shower(program);
    const keys = by.map(({ operand, descending }) => `${show(operand)}${descending ? ' desc' : ''}`);
    return [...showOps(program), `by ${keys.join(', ')} columns ${columns}`];
  },
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
