import type { NodeKind } from './node.js';
import { numbered, shower, showOps } from './text.js';

export const dedup: NodeKind<'dedup'> = {
  show({ program, begin, end, now, expireMs, columns }) {
    const show = shower(program);
    const times = [begin, end, now].map(show).join(' ');
    return [
      ...showOps(program),
      `ranges of ${times} expire ${expireMs}`,
      `give ${numbered([...columns.map(show), 'ranges'])}`,
    ];
  },
  gives({ begin, end, now, columns, expireMs }, { value, values, listed }) {
    const ranges = values.ranges(value(begin), value(end), value(now), expireMs);
    return listed([...columns.map((operand) => () => value(operand)), () => ranges]);
  },
  rows({ input, begin, end, now, expireMs }, at) {
    const times = at.valuesOf([begin, end, now]);
    return at.added(input, at.together('dedup', at.rowsOf(input).key, times, expireMs), '');
  },
  keeps({ input, begin, end, now, columns, expireMs }, at) {
    const rows = at.rowsOf(input);
    const times = at.valuesOf([begin, end, now]);
    const key = at.together('dedup', rows.key, times, expireMs);
    const what = `dedup_trigger(${at.texts(times)}, ${expireMs})`;
    return { key, what, rows: rows.words, lists: [at.list('values', [...at.valuesOf(columns), ...times])] };
  },
};
