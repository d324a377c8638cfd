import type { NodeKind } from './node.js';
import { numbered, shower, showKeys, showOps } from './text.js';

export const asof: NodeKind<'asof'> = {
  show({ program, keys, branches: { type, left, right }, bounds: { toleranceMs }, time, columns, fields }) {
    const show = shower(program);
    const bound = toleranceMs === null ? '' : ` within ${toleranceMs}ms`;
    const ordered = time === null ? '' : ` at c${time}`;
    const by = showKeys(keys, show);
    return [
      ...showOps(program),
      `${type} join branch ${left} with newest of branch ${right}${ordered}${bound}${by}`,
      `give ${numbered([...columns, ...fields].map(show))}`,
    ];
  },
  gives: ({ columns, fields }, { value, own, listed }) =>
    listed([...[...columns, ...fields].map((operand) => () => value(operand)), () => own('#time')]),
  rows({ input, branches, keys, bounds }, at) {
    const pairs = keys.flatMap(({ left, right }) => at.valuesOf([left, right]));
    const { type, left, right } = branches;
    const key = at.together('asof', at.rowsOf(input).key, type, left, right, pairs, bounds.toleranceMs);
    return at.added(input, key, 'ASOF JOIN');
  },
  keeps({ keys, columns, fields }, at) {
    const { key, words } = at.rows();
    // Rows that wait for the watermark are those of the left.
    const lefts = keys.map(({ left }) => left);
    const lists = [at.list('values', at.valuesOf([...columns, ...lefts])), at.list('values', at.valuesOf(fields))];
    return { key: at.together('asof', key), what: 'the newest rows of the ASOF JOIN', rows: words, lists };
  },
};
