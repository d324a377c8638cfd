// Variance and standard deviation, of the population or of a sample. The state has sums of the distances from the first
// number and of their squares, each with the part that rounding lost (T. J. Dekker, 1971; T. Ogita, S. M. Rump, S.
// Oishi, 2005). The sums thus have twice the digits of a double, and the result is the double nearest to the exact one.
//
//   state   first number f64 | count u64 | sum f64, its lost part f64 | sum of squares f64, its lost part f64
import { Agg } from '../../gen/aggregates';
import { Tag, isNumber } from '../../mem/layout';
import { numberError } from '../state/error';
import { giveResult } from '../state/result';
import { giveDouble } from '../state/statistics';
import { failAggregate } from '../state/take';
import { AggregateSpec } from '../../gen/window-layouts';
import { GroupSet } from '../group/table';

const COUNT: usize = 8;
const SUM: usize = 16;
const SQUARES: usize = 32;
/** Offset of the lost part behind its sum. */
const LOST: usize = 8;
const STATE_SIZE: usize = 48;
/** Magnitude of sums above which squares are not exact. */
const MOST: f64 = 1e150;
const TWO_63: f64 = 9223372036854775808.0;

/** Rounding error of the product a * b. */
// @ts-ignore: decorator
@inline function lostOfProduct(a: f64, b: f64, product: f64): f64 {
  const x = a * 134217729.0;
  const aHigh = x - (x - a);
  const aLow = a - aHigh;
  const y = b * 134217729.0;
  const bHigh = y - (y - b);
  const bLow = b - bHigh;
  return aLow * bLow - (product - aHigh * bHigh - aLow * bHigh - aHigh * bLow);
}

/** Rounding error of the sum a + b. */
// @ts-ignore: decorator
@inline function lostOfSum(a: f64, b: f64, sum: f64): f64 {
  const other = sum - a;
  return a - (sum - other) + (b - other);
}

/** Adds a number and its lost part to a sum. */
// @ts-ignore: decorator
@inline function addTo(at: usize, x: f64, lost: f64): void {
  const before = load<f64>(at);
  const sum = before + x;
  store<f64>(at, sum);
  store<f64>(at, load<f64>(at, LOST) + (lostOfSum(before, x, sum) + lost), LOST);
}

function take(fn: u32, set: GroupSet, state: usize, tagAt: usize, tag: u8, payload: u64): void {
  if (tag <= Tag.NULL || load<u8>(tagAt) == Tag.ERROR) return;
  if (!isNumber(tag)) {
    failAggregate(set, state, tagAt, numberError(fn, tag, payload));
    return;
  }
  let x = reinterpret<f64>(payload);
  let rest: f64 = 0;
  if (tag == Tag.I64) {
    x = <f64>(<i64>payload);
    rest = <f64>(<i64>(payload - (x == TWO_63 ? (<u64>1) << 63 : <u64>(<i64>x))));
  }
  if (load<u8>(tagAt) == Tag.MISSING) {
    memory.fill(state, 0, STATE_SIZE);
    store<f64>(state, x);
    store<u8>(tagAt, Tag.F64);
  }
  const first = load<f64>(state);
  const distance = x - first;
  const lost = lostOfSum(x, -first, distance) + rest;
  addTo(state + SUM, distance, lost);
  const square = distance * distance;
  addTo(state + SQUARES, square, lostOfProduct(distance, distance, square) + (2 * distance + lost) * lost);
  store<u64>(state, load<u64>(state, COUNT) + 1, COUNT);
}

/** Adds the sums of other numbers, whose distances are from another first number. */
function merge(to: usize, tagTo: usize, from: usize, tag: u8): void {
  if (tag == Tag.MISSING) return;
  if (load<u8>(tagTo) == Tag.MISSING) {
    memory.copy(to, from, STATE_SIZE);
    store<u8>(tagTo, tag);
    return;
  }
  const n = <f64>load<u64>(from, COUNT);
  const sum = load<f64>(from, SUM);
  const sumLost = load<f64>(from, SUM + LOST);
  const a = load<f64>(from);
  const b = load<f64>(to);
  const shift = a - b;
  const lost = lostOfSum(a, -b, shift);
  // Each distance grows by the shift, its square by twice their product and the square of the shift.
  const moved = n * shift;
  addTo(to + SUM, sum, sumLost);
  addTo(to + SUM, moved, lostOfProduct(n, shift, moved) + n * lost);
  addTo(to + SQUARES, load<f64>(from, SQUARES), load<f64>(from, SQUARES + LOST));
  const twice = 2 * shift;
  const mixed = twice * sum;
  addTo(to + SQUARES, mixed, lostOfProduct(twice, sum, mixed) + twice * sumLost + 2 * lost * sum);
  const square = shift * shift;
  const squareLost = lostOfProduct(shift, shift, square) + (twice + lost) * lost;
  const squares = n * square;
  addTo(to + SQUARES, squares, lostOfProduct(n, square, squares) + n * squareLost);
  store<u64>(to, load<u64>(to, COUNT) + load<u64>(from, COUNT), COUNT);
}

/** Lost part of the double that `restOf` or `quotientOf` returned. */
let behind: f64 = 0;

/** Computes (a + aLost) / n. */
function quotientOf(a: f64, aLost: f64, n: f64): f64 {
  const quotient = a / n;
  const product = quotient * n;
  behind = (a - product - lostOfProduct(quotient, n, product) + aLost) / n;
  return quotient;
}

/** Sum of the squared distances from the mean. */
function restOf(state: usize, n: f64): f64 {
  const raw = load<f64>(state, SUM);
  const sum = raw + load<f64>(state, SUM + LOST);
  const sumLost = lostOfSum(raw, load<f64>(state, SUM + LOST), sum);
  const squares = load<f64>(state, SQUARES);
  const square = sum * sum;
  let part: f64;
  if (abs(sum) > MOST) {
    part = (sum / n) * sum;
    behind = 0;
  } else part = quotientOf(square, lostOfProduct(sum, sum, square) + 2 * sum * sumLost, n);
  const rest = squares - part;
  const lost = lostOfSum(squares, -part, rest) + (load<f64>(state, SQUARES + LOST) - behind);
  const total = rest + lost;
  behind = lostOfSum(rest, lost, total);
  return total;
}

/** Computes the result; a sample of one value has none (null). */
function finish(fn: u32, state: usize, tag: u8): void {
  const isSample = fn == Agg.STDDEVS || fn == Agg.VARS;
  const n = load<u64>(state, COUNT);
  if (tag == Tag.MISSING || (isSample && n == 1)) {
    giveResult(Tag.NULL, 0);
    return;
  }
  const squares = load<f64>(state, SQUARES);
  if (!isFinite(squares)) {
    giveDouble(squares);
    return;
  }
  const rest = restOf(state, <f64>n);
  const variance = rest > 0 ? quotientOf(rest, behind, <f64>(isSample ? n - 1 : n)) : 0;
  if (!(variance > 0)) giveDouble(variance);
  else if (fn == Agg.VAR || fn == Agg.VARS) giveDouble(variance + behind);
  else {
    const root = sqrt(variance);
    const square = root * root;
    giveDouble(root + (variance - square - lostOfProduct(root, root, square) + behind) / (2 * root));
  }
}

export function stddevTake(
  set: GroupSet,
  agg: AggregateSpec,
  state: usize,
  tagAt: usize,
  tag: u8,
  payload: u64,
  row: u32,
): void {
  take(Agg.STDDEV, set, state, tagAt, tag, payload);
}

export function stddevMerge(set: GroupSet, agg: AggregateSpec, to: usize, tagTo: usize, from: usize, tag: u8): void {
  merge(to, tagTo, from, tag);
}

export function stddevFinish(agg: AggregateSpec, state: usize, tag: u8): void {
  finish(Agg.STDDEV, state, tag);
}

export function stddevsTake(
  set: GroupSet,
  agg: AggregateSpec,
  state: usize,
  tagAt: usize,
  tag: u8,
  payload: u64,
  row: u32,
): void {
  take(Agg.STDDEVS, set, state, tagAt, tag, payload);
}

export function stddevsMerge(set: GroupSet, agg: AggregateSpec, to: usize, tagTo: usize, from: usize, tag: u8): void {
  merge(to, tagTo, from, tag);
}

export function stddevsFinish(agg: AggregateSpec, state: usize, tag: u8): void {
  finish(Agg.STDDEVS, state, tag);
}

export function varTake(
  set: GroupSet,
  agg: AggregateSpec,
  state: usize,
  tagAt: usize,
  tag: u8,
  payload: u64,
  row: u32,
): void {
  take(Agg.VAR, set, state, tagAt, tag, payload);
}

export function varMerge(set: GroupSet, agg: AggregateSpec, to: usize, tagTo: usize, from: usize, tag: u8): void {
  merge(to, tagTo, from, tag);
}

export function varFinish(agg: AggregateSpec, state: usize, tag: u8): void {
  finish(Agg.VAR, state, tag);
}

export function varsTake(
  set: GroupSet,
  agg: AggregateSpec,
  state: usize,
  tagAt: usize,
  tag: u8,
  payload: u64,
  row: u32,
): void {
  take(Agg.VARS, set, state, tagAt, tag, payload);
}

export function varsMerge(set: GroupSet, agg: AggregateSpec, to: usize, tagTo: usize, from: usize, tag: u8): void {
  merge(to, tagTo, from, tag);
}

export function varsFinish(agg: AggregateSpec, state: usize, tag: u8): void {
  finish(Agg.VARS, state, tag);
}
