/** dedup_trigger: rows wait until the end of the range that they ask for, and get the parts that no row had before. */

import type { Logical } from '../logical/logical.js';
import type { NodeKind } from '../nodes/node.js';
import { ProgramBuilder } from '../program/program.js';
import { isNone, windowNeeds } from '../program/window-needs.js';
import type { RangesValue } from '../values/value.js';
import type { OperatorKind } from './operator.js';

declare module '../logical/logical.js' {
  interface LogicalOperators {
    /** Rows wait until the end of the range that they ask for, and get the parts that no row had before. */
    dedup: { input: Logical; ranges: RangesValue };
  }
}

export const dedup: OperatorKind<'dedup'> = {
  values: ({ ranges }) => [ranges],
  map(node, map) {
    const ranges = map(node.ranges);
    return ranges.kind === 'ranges' ? { ...node, ranges } : node;
  },
  lower(node, at) {
    const { ranges } = node;
    const { path } = at;
    const { keep } = windowNeeds(at.valuesAbove(node), isNone, (value) => at.isHeld(value));
    const carried = keep.filter((value) => path.find(value) !== undefined);
    const builder = new ProgramBuilder(path);
    const begin = builder.operand(ranges.begin);
    const end = builder.operand(ranges.end);
    const now = builder.operand(ranges.now);
    const columns = carried.map((value) => builder.operand(value));
    const program = builder.finishOrNull();
    const { expireMs } = ranges;
    at.held.add(ranges);
    at.pushNew(
      { kind: 'dedup', input: path.input, program, columns, begin, end, now, expireMs, name: 'dedup_trigger' },
      'dedup_trigger',
      [...carried, ranges],
    );
  },
  explain: ({ ranges }, { show }) => [['DedupTriggerPlan', show(ranges)]],
  keeps: () => 'ranges that were given, until they expire: grows with the number of gaps between them',
  waits: () => 'for the end of the range that they ask for',
};

export const dedupNode: NodeKind<'dedup'> = {
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
