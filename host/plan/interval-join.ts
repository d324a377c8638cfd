/**
 * Joins of two streams without a window: ON bounds how far the times of two rows lie apart. Each time at which a row of the left
 * stream lies gathers, as a sliding window does, the rows of both around it; of the left ones those of that time alone are joined.
 * Rows are kept as long as the watermark leaves room for a partner.
 */
import { refuse } from './errors.js';
import type { Logical, WindowNode } from './logical.js';
import type { Source } from './source.js';
import type { Value, Values } from './value.js';

/** How much later than the left row the right one may be, milliseconds; negative: earlier. */
interface Interval {
  readonly least: number;
  readonly most: number;
}

type Bound = { op: 'ge' | 'le'; ms: number };

/** The interval that the condition demands; null where it has no bound on both sides. */
export function intervalOf(condition: Value | null, left: Source, right: Source): Interval | null {
  let least = -Infinity;
  let most = Infinity;
  const visit = (value: Value | null | undefined): void => {
    if (value?.kind !== 'op') return;
    const [a, b, c] = value.operands;
    if (value.op === 'logic.and') {
      visit(a);
      visit(b);
    } else if (a != null && b != null) {
      for (const { op, ms } of boundsOf(value.op, a, b, c ?? null, left, right)) {
        if (op === 'ge') least = Math.max(least, ms);
        else most = Math.min(most, ms);
      }
    }
  };
  visit(condition);
  return Number.isFinite(least) && Number.isFinite(most) ? { least, most } : null;
}

/** What a comparison says of the time of the right row less that of the left one; whole milliseconds, rather too wide. */
function boundsOf(op: string, a: Value, b: Value, c: Value | null, left: Source, right: Source): Bound[] {
  if (op === 'compare.between' && c !== null) {
    return [...boundsOf('compare.ge', a, b, null, left, right), ...boundsOf('compare.le', a, c, null, left, right)];
  }
  const [x, y] = [timeIn(a, left, right), timeIn(b, left, right)];
  if (x === null || y === null || x.isRight === y.isRight) return [];
  const ms = x.isRight ? y.offset - x.offset : x.offset - y.offset;
  const isGreater = op === 'compare.ge' || op === 'compare.gt';
  const isLess = op === 'compare.le' || op === 'compare.lt';
  const bounds: Bound[] = [];
  if (op === 'compare.eq' || (x.isRight ? isGreater : isLess)) bounds.push({ op: 'ge', ms: Math.floor(ms) });
  if (op === 'compare.eq' || (x.isRight ? isLess : isGreater)) bounds.push({ op: 'le', ms: Math.ceil(ms) });
  return bounds;
}

/** A time of one of the streams, with milliseconds added to it. */
function timeIn(value: Value, left: Source, right: Source): { isRight: boolean; offset: number } | null {
  if (value === left.time()) return { isRight: false, offset: 0 };
  if (value === right.time()) return { isRight: true, offset: 0 };
  if (value.kind !== 'op' || (value.op !== 'arith.add' && value.op !== 'arith.sub')) return null;
  const [a, b] = value.operands;
  if (a == null || b == null) return null;
  const [time, ms] = [timeIn(a, left, right), numberOf(b)];
  if (time !== null && ms !== null) return { ...time, offset: time.offset + (value.op === 'arith.add' ? ms : -ms) };
  const [first, second] = [numberOf(a), timeIn(b, left, right)];
  if (value.op === 'arith.sub' || first === null || second === null) return null;
  return { ...second, offset: second.offset + first };
}

function numberOf(value: Value): number | null {
  if (value.kind !== 'const') return null;
  return value.value.tag === 'i64' || value.value.tag === 'f64' ? Number(value.value.value) : null;
}

/** The rows that are joined for each time of the left stream, as messages. */
export function rowsAround(input: Logical, { least, most }: Interval, left: Source, values: Values): Logical {
  const time = left.rowTime(true);
  const isLeft = values.op('logic.isNotNull', [left.arrival()]);
  const yes = values.constant({ tag: 'bool', value: true });
  const before = values.analytic('lag', [time, values.null(), yes], 1, [], isLeft);
  const isFirst = values.op('logic.or', [values.op('logic.isNull', [before]), values.op('compare.ne', [before, time])]);
  const window: WindowNode = {
    kind: 'window',
    input,
    // One millisecond more: all rows of the last one are there when it has passed.
    window: {
      kind: 'sliding',
      lengthMs: Math.max(0, -least),
      delayMs: Math.max(0, most) + 1,
      trigger: values.op('logic.and', [isLeft, isFirst]),
    },
    timestamp: null,
    where: null,
    keys: [],
    isGrouped: false,
    sendEmpty: false,
  };
  const isOfTime = values.op('compare.eq', [time, values.window('trigger')]);
  const condition = values.op('logic.or', [values.op('logic.not', [isLeft]), isOfTime]);
  return { kind: 'filter', input: window, condition, clause: 'filter' };
}

/** The refusal of a join that is none. */
export function needsInterval(left: Source, right: Source): Error {
  const [a, b] = [`${left.ownName}.${left.timestamp}`, `${right.ownName}.${right.timestamp}`];
  return refuse(
    `a join of streams needs a window in GROUP BY, or in ON bounds of the time between the rows, ${b} BETWEEN ${a} - 5000 AND ${a} + 5000`,
  );
}
