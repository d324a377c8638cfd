// Variance and standard deviation, of the population or of a sample: mean and sum of squared distances from it are carried
// on with each number (B. P. Welford, 1962) and joined for parts of a window (T. F. Chan, G. H. Golub, R. J. LeVeque, 1979).
import { Agg } from '../../gen/aggregates';
import { Tag, isNumber } from '../../mem/layout';
import { toF64 } from '../../value/number';
import { numberError } from '../error';
import { giveResult } from '../result';
import { giveDouble } from '../statistics';
import { failAggregate } from '../take';

/** Sum of squared distances from the mean, which stands before it. */
const SQUARES: usize = 8;
const COUNT: usize = 16;

function take(fn: u32, set: usize, state: usize, tagAt: usize, tag: u8, payload: u64): void {
  if (tag <= Tag.NULL || load<u8>(tagAt) == Tag.ERROR) return;
  if (!isNumber(tag)) {
    failAggregate(set, state, tagAt, numberError(fn, tag, payload));
    return;
  }
  const x = toF64(tag, payload);
  if (load<u8>(tagAt) == Tag.MISSING) {
    store<f64>(state, x);
    store<f64>(state, 0, SQUARES);
    store<u64>(state, 1, COUNT);
    store<u8>(tagAt, Tag.F64);
    return;
  }
  const n = load<u64>(state, COUNT) + 1;
  const before = x - load<f64>(state);
  const mean = load<f64>(state) + before / <f64>n;
  store<f64>(state, mean);
  store<f64>(state, load<f64>(state, SQUARES) + before * (x - mean), SQUARES);
  store<u64>(state, n, COUNT);
}

function merge(to: usize, tagTo: usize, from: usize, tag: u8): void {
  if (tag == Tag.MISSING) return;
  if (load<u8>(tagTo) == Tag.MISSING) {
    memory.copy(to, from, COUNT + 8);
    store<u8>(tagTo, tag);
    return;
  }
  const a = <f64>load<u64>(to, COUNT);
  const b = <f64>load<u64>(from, COUNT);
  const distance = load<f64>(from) - load<f64>(to);
  store<f64>(to, load<f64>(to) + (distance * b) / (a + b));
  store<f64>(to, load<f64>(to, SQUARES) + load<f64>(from, SQUARES) + (distance * distance * a * b) / (a + b), SQUARES);
  store<u64>(to, load<u64>(to, COUNT) + load<u64>(from, COUNT), COUNT);
}

/** A sample of one value has none (null). */
function finish(fn: u32, state: usize, tag: u8): void {
  const isSample = fn == Agg.STDDEVS || fn == Agg.VARS;
  const n = load<u64>(state, COUNT);
  if (tag == Tag.MISSING || (isSample && n == 1)) {
    giveResult(Tag.NULL, 0);
    return;
  }
  const variance = load<f64>(state, SQUARES) / <f64>(isSample ? n - 1 : n);
  giveDouble(fn == Agg.STDDEV || fn == Agg.STDDEVS ? sqrt(variance) : variance);
}

export function stddevTake(set: usize, agg: usize, state: usize, tagAt: usize, tag: u8, payload: u64, row: u32): void {
  take(Agg.STDDEV, set, state, tagAt, tag, payload);
}

export function stddevMerge(set: usize, agg: usize, to: usize, tagTo: usize, from: usize, tag: u8): void {
  merge(to, tagTo, from, tag);
}

export function stddevFinish(agg: usize, state: usize, tag: u8): void {
  finish(Agg.STDDEV, state, tag);
}

export function stddevsTake(set: usize, agg: usize, state: usize, tagAt: usize, tag: u8, payload: u64, row: u32): void {
  take(Agg.STDDEVS, set, state, tagAt, tag, payload);
}

export function stddevsMerge(set: usize, agg: usize, to: usize, tagTo: usize, from: usize, tag: u8): void {
  merge(to, tagTo, from, tag);
}

export function stddevsFinish(agg: usize, state: usize, tag: u8): void {
  finish(Agg.STDDEVS, state, tag);
}

export function varTake(set: usize, agg: usize, state: usize, tagAt: usize, tag: u8, payload: u64, row: u32): void {
  take(Agg.VAR, set, state, tagAt, tag, payload);
}

export function varMerge(set: usize, agg: usize, to: usize, tagTo: usize, from: usize, tag: u8): void {
  merge(to, tagTo, from, tag);
}

export function varFinish(agg: usize, state: usize, tag: u8): void {
  finish(Agg.VAR, state, tag);
}

export function varsTake(set: usize, agg: usize, state: usize, tagAt: usize, tag: u8, payload: u64, row: u32): void {
  take(Agg.VARS, set, state, tagAt, tag, payload);
}

export function varsMerge(set: usize, agg: usize, to: usize, tagTo: usize, from: usize, tag: u8): void {
  merge(to, tagTo, from, tag);
}

export function varsFinish(agg: usize, state: usize, tag: u8): void {
  finish(Agg.VARS, state, tag);
}
