import type { NodeKind } from './node.js';
import { shower, showOps } from './text.js';

export const eventTime: NodeKind<'eventTime'> = {
  show({ program, timestamp, isOrdered, lateToleranceMs, columns }) {
    const how = isOrdered === true ? 'in order' : `late ${lateToleranceMs}ms`;
    return [...showOps(program), `by ${shower(program)(timestamp)} ${how} columns ${columns}`];
  },
  gives: ({ columns }, { input, own, derived }) => derived((i) => (i < columns ? input.columnAt(i) : own('#time'))),
  rows: ({ input, timestamp }, at) =>
    at.added(input, at.together('eventTime', at.rowsOf(input).key, at.value(timestamp)), ''),
  keeps({ input, timestamp, columns: count }, at) {
    const rows = at.rowsOf(input);
    const key = at.together('eventTime', rows.key, at.value(timestamp));
    const columns = Array.from({ length: count }, (_none, i) => at.columnAbove(i));
    const lists = [at.list('values', columns)];
    return { key, what: 'rows that wait for the watermark', rows: rows.words, lists };
  },
};
