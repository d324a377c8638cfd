/**
 * Joins of two streams without a window: ON bounds how far the times of two rows lie apart. Each time at which a row of the left
 * stream lies gathers, as a sliding window does, the rows of both around it; of the left ones those of that time alone are joined.
 * Rows are kept as long as the watermark leaves room for a partner.
 */
import { refuse } from './errors.js';
import { conjuncts } from './joined-row.js';
import type { Logical, WindowNode } from './logical.js';
import type { Source } from './source.js';
import type { Value, Values } from './value.js';

/** How much later than the left row the right one may be, milliseconds; negative: earlier. */
interface Interval {
  readonly least: number;
  readonly most: number;
}

/** What a condition says of the time of the right row less that of the left one. */
export interface Bound {
  readonly op: 'ge' | 'le';
  readonly ms: number;
  /** Equal does not do. */
  readonly isStrict: boolean;
}

/** The streams whose times are compared, the left one first. */
type Sides = readonly [left: Source, right: Source];
/** The number that a value always is; null where it is none. */
type ConstantOf = (value: Value) => number | null;

/** The interval that the condition demands; null where it has no bound on both sides. */
export function intervalOf(condition: Value | null, sides: Sides, constantOf: ConstantOf): Interval | null {
  let least = -Infinity;
  let most = Infinity;
  for (const term of condition === null ? [] : conjuncts(condition)) {
    for (const { op, ms } of boundsOf(term, sides, constantOf)) {
      // Whole milliseconds, rather too wide: the condition decides on pairs.
      if (op === 'ge') least = Math.max(least, Math.floor(ms));
      else most = Math.min(most, Math.ceil(ms));
    }
  }
  return Number.isFinite(least) && Number.isFinite(most) ? { least, most } : null;
}

/** What a comparison says of the times; nothing where it compares something else. */
export function boundsOf(term: Value, sides: Sides, constantOf: ConstantOf): Bound[] {
  if (term.kind !== 'op') return [];
  const [a, b, c] = term.operands;
  if (a == null || b == null) return [];
  if (term.op === 'compare.between') {
    if (c == null) return [];
    return [...boundsBy('compare.ge', a, b, sides, constantOf), ...boundsBy('compare.le', a, c, sides, constantOf)];
  }
  return boundsBy(term.op, a, b, sides, constantOf);
}

function boundsBy(op: string, a: Value, b: Value, sides: Sides, constantOf: ConstantOf): Bound[] {
  const [x, y] = [timeIn(a, sides, constantOf), timeIn(b, sides, constantOf)];
  if (x === null || y === null || x.isRight === y.isRight) return [];
  const ms = x.isRight ? y.offset - x.offset : x.offset - y.offset;
  const isGreater = op === 'compare.ge' || op === 'compare.gt';
  const isLess = op === 'compare.le' || op === 'compare.lt';
  const isStrict = op === 'compare.gt' || op === 'compare.lt';
  const bounds: Bound[] = [];
  if (op === 'compare.eq' || (x.isRight ? isGreater : isLess)) bounds.push({ op: 'ge', ms, isStrict });
  if (op === 'compare.eq' || (x.isRight ? isLess : isGreater)) bounds.push({ op: 'le', ms, isStrict });
  return bounds;
}

/** A time of one of the streams, with milliseconds added to it. */
function timeIn(
  value: Value,
  [left, right]: Sides,
  constantOf: ConstantOf,
): { isRight: boolean; offset: number } | null {
  if (value === left.time()) return { isRight: false, offset: 0 };
  if (value === right.time()) return { isRight: true, offset: 0 };
  if (value.kind !== 'op' || (value.op !== 'arith.add' && value.op !== 'arith.sub')) return null;
  const [a, b] = value.operands;
  if (a == null || b == null) return null;
  const sides: Sides = [left, right];
  const [time, ms] = [timeIn(a, sides, constantOf), constantOf(b)];
  if (time !== null && ms !== null) return { ...time, offset: time.offset + (value.op === 'arith.add' ? ms : -ms) };
  const [first, second] = [constantOf(a), timeIn(b, sides, constantOf)];
  if (value.op === 'arith.sub' || first === null || second === null) return null;
  return { ...second, offset: second.offset + first };
}

/** The interval as the right stream sees it. */
export function turned({ least, most }: Interval): Interval {
  return { least: -most, most: -least };
}

/** The rows that are joined for each time of the stream from which the interval is seen, as messages. */
export function rowsAround(input: Logical, { least, most }: Interval, from: Source, values: Values): Logical {
  const time = from.rowTime(true);
  const isOwn = values.op('logic.isNotNull', [from.arrival()]);
  const yes = values.constant({ tag: 'bool', value: true });
  const before = values.analytic('lag', [time, values.null(), yes], 1, [], isOwn);
  const isFirst = values.op('logic.or', [values.op('logic.isNull', [before]), values.op('compare.ne', [before, time])]);
  const window: WindowNode = {
    kind: 'window',
    input,
    // One millisecond more: all rows of the last one are there when it has passed.
    window: {
      kind: 'sliding',
      lengthMs: Math.max(0, -least),
      delayMs: Math.max(0, most) + 1,
      trigger: values.op('logic.and', [isOwn, isFirst]),
    },
    timestamp: null,
    where: null,
    keys: [],
    isGrouped: false,
    sendEmpty: false,
  };
  const isOfTime = values.op('compare.eq', [time, values.window('trigger')]);
  const condition = values.op('logic.or', [values.op('logic.not', [isOwn]), isOfTime]);
  return { kind: 'filter', input: window, condition, clause: 'filter' };
}

/** The refusal of a join that is none. */
export function needsInterval(left: Source, right: Source): Error {
  const [a, b] = [`${left.ownName}.${left.timestamp}`, `${right.ownName}.${right.timestamp}`];
  return refuse(
    `a join of streams needs a window in GROUP BY, or in ON bounds of the time between the rows, ${b} BETWEEN ${a} - 5000 AND ${a} + 5000`,
  );
}
