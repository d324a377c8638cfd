/** Bounds that conditions of joins set for the times of two rows. */
import type { Relation } from '../values/source.js';
import type { Value } from '../values/value.js';

/** Bound that a condition sets for the time of the right row minus that of the left row. */
export interface Bound {
  readonly op: 'ge' | 'le';
  readonly ms: number;
  /** The bound itself is excluded. */
  readonly isStrict: boolean;
}

/** Relations of the rows whose times are compared, the left one first. */
export type Sides = readonly [left: Relation, right: Relation];
/** The number that a value always is; null where it is none. */
export type ConstantOf = (value: Value) => number | null;

/** Bounds that a comparison sets for the times; empty when it compares other values. */
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

/** True where the comparison says nothing but its bounds. */
export function saysAll(term: Value, { length }: readonly Bound[]): boolean {
  return length === (term.kind === 'op' && (term.op === 'compare.between' || term.op === 'compare.eq') ? 2 : 1);
}

/** The bounds together, in whole milliseconds as times are; infinite where there is none. */
export function rangeOf(bounds: readonly Bound[]): { least: number; most: number } {
  let [least, most] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const { op, ms, isStrict } of bounds) {
    if (op === 'ge') least = Math.max(least, isStrict ? Math.floor(ms) + 1 : Math.ceil(ms));
    else most = Math.min(most, isStrict ? Math.ceil(ms) - 1 : Math.floor(ms));
  }
  return { least, most };
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

/** A time of one of the sides, with milliseconds added to it. */
function timeIn(value: Value, sides: Sides, constantOf: ConstantOf): { isRight: boolean; offset: number } | null {
  const found = sides.flatMap((side, i) => {
    const offset = offsetOf(value, (one) => side.timeOffset(one), constantOf);
    return offset === null ? [] : [{ isRight: i === 1, offset }];
  });
  return found[0] ?? null;
}

/** How much later than a time the value is, ms: the time with milliseconds added; null where it is something else. */
export function offsetOf(value: Value, ofTime: (value: Value) => number | null, constantOf: ConstantOf): number | null {
  const own = ofTime(value);
  if (own !== null || value.kind !== 'op') return own;
  if (value.op !== 'arith.add' && value.op !== 'arith.sub') return null;
  const [a, b] = value.operands;
  if (a == null || b == null) return null;
  const [time, ms] = [offsetOf(a, ofTime, constantOf), constantOf(b)];
  if (time !== null && ms !== null) return value.op === 'arith.add' ? time + ms : time - ms;
  const [first, second] = [constantOf(a), offsetOf(b, ofTime, constantOf)];
  return value.op === 'arith.sub' || first === null || second === null ? null : first + second;
}

/** Name of the time of a relation's rows, for users. */
export function timeName(relation: Relation): string {
  const { ownName, timeColumn } = relation;
  return timeColumn === null ? `the time of ${ownName}` : `${ownName}.${timeColumn}`;
}
