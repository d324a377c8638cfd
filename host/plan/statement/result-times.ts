/** The times that rows of a SELECT have for one that reads them. */
import type { Select } from '../../sql/ast.js';
import { isAsof } from '../joins/asof.js';
import { intervalAt } from '../joins/interval.js';
import { type ConstantOf, offsetOf } from '../joins/time-bounds.js';
import { firstPresent } from '../values/joined-row.js';
import type { Relation } from '../values/source.js';
import type { Value, Values } from '../values/value.js';
import { kindOf } from '../windows/index.js';
import type { Result } from './derived.js';

type Times = Pick<Result, 'time' | 'arrival' | 'timeOffset'>;

/**
 * Time of a joined row that is one of the first stream with what was found for it; undefined for rows of other joins.
 */
export function joinedTime(select: Select, relations: readonly Relation[], isEventTime: boolean): Value | undefined {
  return isOfFirst(select, relations) ? relations[0]?.rowTime(isEventTime) : undefined;
}

/** Rows of an as-of join, or of one with lookup tables, are those of the first stream. */
function isOfFirst({ window, joins }: Select, relations: readonly Relation[]): boolean {
  return window === null && joins.every((join, i) => isAsof(join) || relations[i + 1]?.isLookup === true);
}

/** @param relations FROM first, then those of the joins */
export function timesOf(
  select: Select,
  relations: readonly Relation[],
  isEventTime: boolean,
  values: Values,
  constantOf: ConstantOf,
): Times {
  const { window, joins } = select;
  const [relation] = relations;
  const offsetBy = (ofTime: (value: Value) => number | null) => (value: Value) => offsetOf(value, ofTime, constantOf);
  if (isOfFirst(select, relations) && relation !== undefined) {
    return {
      time: isEventTime ? relation.rowTime(true) : null,
      arrival: relation.arrival(),
      timeOffset: offsetBy((value) => relation.timeOffset(value)),
    };
  }
  const [end, trigger] = [values.window('end'), values.window('trigger')];
  const offsetTo = (ms: number) => offsetBy((value) => (value === end ? ms : null));
  if (window === null && intervalAt(joins, relations) >= 0) {
    const arrival = firstPresent(
      values,
      relations.filter(({ isTable }) => !isTable).map((one) => one.arrival()),
    );
    return { time: end, arrival, timeOffset: offsetBy((value) => (value === end || value === trigger ? 0 : null)) };
  }
  if (!isEventTime) return { time: null, arrival: trigger, timeOffset: () => null };
  // The windows of a second belong to that window of a minute in which they lie.
  const isAligned = window !== null && kindOf(window).isAligned === true;
  const one = values.constant({ tag: 'i64', value: 1n });
  return {
    time: isAligned ? values.op('arith.sub', [end, one]) : end,
    arrival: trigger,
    timeOffset: offsetTo(isAligned ? 1 : 0),
  };
}
