import type { NodeKind } from './node.js';
import { numbered, shower, showOps } from './text.js';

export const expand: NodeKind<'expand'> = {
  show({ program, most, columns, of, list }) {
    const show = shower(program);
    const bound = most < Number.MAX_SAFE_INTEGER ? ` most ${most}` : '';
    return [
      ...showOps(program),
      `${of} of ${show(list)}${bound}`,
      `give ${numbered([...columns.map(show), 'element'])}`,
    ];
  },
  gives: ({ columns }, { value, values, listed }) =>
    listed([...columns.map((operand) => () => value(operand)), () => values.item()]),
  rows({ input, list, of }, at) {
    const value = at.value(list);
    const key = at.together('expand', at.rowsOf(input).key, value, of);
    return at.added(input, key, `unnest(${at.text(value)})`);
  },
};
