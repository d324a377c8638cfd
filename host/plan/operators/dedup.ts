/** dedup_trigger: rows wait until the end of the range that they ask for, and get what is left of it. */
import { ProgramBuilder } from '../program/program.js';
import { isNone, windowNeeds } from '../program/window-needs.js';
import type { OperatorKind } from './operator.js';

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
