import type { NodeKind } from './node.js';
import { shower, showOps } from './text.js';

export const hits: NodeKind<'hits'> = {
  show({ program, count, time, when, judged, condition }) {
    const show = shower(program);
    return [
      ...showOps(program),
      `r${count}, r${time} = rows that passed and time ${show(when)} of the newest`,
      judged === null ? `keep ${show(condition)}` : `r${judged} = ${show(condition)}`,
    ];
  },
  gives({ judged, condition }, { input, value }) {
    if (judged !== null) input.set(judged, value(condition));
    return input;
  },
  rows({ input, judged, condition: operand }, at) {
    const above = at.rowsOf(input);
    if (judged !== null) return above;
    const condition = at.value(operand);
    const key = at.together('filter', above.key, condition, false);
    return at.added(input, key, `${above.isOfMessages ? 'HAVING' : 'WHERE'} ${at.text(condition)}`);
  },
  keeps({ input, condition }, at) {
    const rows = at.rowsOf(input);
    const key = at.together('hits', rows.key, at.value(condition));
    const what = rows.isOfMessages ? 'last_agg_hit_count()' : 'last_hit_count()';
    return { key, what, rows: rows.words, lists: [] };
  },
};
