/** The times that rows of a SELECT have for one that reads them. */
import type { Select } from '../sql/ast.js';
import { isAsof } from './asof-join.js';
import type { Result } from './derived.js';
import { intervalAt } from './interval-join.js';
import { firstPresent } from './joined-row.js';
import type { Relation } from './source.js';
import { type ConstantOf, offsetOf } from './time-bounds.js';
import type { Value, Values } from './value.js';

type Times = Pick<Result, 'time' | 'arrival' | 'timeOffset'>;

/** @param relations FROM first, then those of the joins */
export function timesOf(
  { window, joins }: Select,
  relations: readonly Relation[],
  isEventTime: boolean,
  values: Values,
  constantOf: ConstantOf,
): Times {
  const [relation] = relations;
  const offsetBy = (ofTime: (value: Value) => number | null) => (value: Value) => offsetOf(value, ofTime, constantOf);
  // Rows of an as-of join, or of one with tables, are those of its first stream.
  const others = joins.filter((join, i) => !isAsof(join) && relations[i + 1]?.isLookup !== true);
  if (window === null && others.length === 0 && relation !== undefined) {
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
  const isAligned = window?.kind === 'tumbling' || window?.kind === 'hopping';
  const one = values.constant({ tag: 'i64', value: 1n });
  return {
    time: isAligned ? values.op('arith.sub', [end, one]) : end,
    arrival: trigger,
    timeOffset: offsetTo(isAligned ? 1 : 0),
  };
}
