// Variance and standard deviation, of the population or of a sample.
import { Agg } from '../../gen/aggregates';
import { free } from '../../mem/alloc';
import { Tag } from '../../mem/layout';
import { keepNumber } from '../keep';
import { giveResult } from '../result';
import { giveDouble, numbers } from '../statistics';

/** A sample of one value has none (null). */
function deviation(fn: u32, list: usize): void {
  const at = numbers(fn, list);
  if (!at) return;
  const n = load<u32>(list, 4);
  const isSample = fn == Agg.STDDEVS || fn == Agg.VARS;
  let sum: f64 = 0;
  for (let i: u32 = 0; i < n; i++) sum += load<f64>(at + (<usize>i << 3));
  const mean = sum / <f64>n;
  let squares: f64 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const d = load<f64>(at + (<usize>i << 3)) - mean;
    squares += d * d;
  }
  free(at, n << 3, 0);
  if (isSample && n == 1) {
    giveResult(Tag.NULL, 0);
    return;
  }
  const variance = squares / <f64>(isSample ? n - 1 : n);
  giveDouble(fn == Agg.STDDEV || fn == Agg.STDDEVS ? sqrt(variance) : variance);
}

export function stddevTake(set: usize, agg: usize, state: usize, tagAt: usize, tag: u8, payload: u64, row: u32): void {
  keepNumber(set, agg, state, tagAt, tag, payload, row);
}

export function stddevFinish(agg: usize, state: usize, tag: u8): void {
  deviation(Agg.STDDEV, state);
}

export function stddevsTake(set: usize, agg: usize, state: usize, tagAt: usize, tag: u8, payload: u64, row: u32): void {
  keepNumber(set, agg, state, tagAt, tag, payload, row);
}

export function stddevsFinish(agg: usize, state: usize, tag: u8): void {
  deviation(Agg.STDDEVS, state);
}

export function varTake(set: usize, agg: usize, state: usize, tagAt: usize, tag: u8, payload: u64, row: u32): void {
  keepNumber(set, agg, state, tagAt, tag, payload, row);
}

export function varFinish(agg: usize, state: usize, tag: u8): void {
  deviation(Agg.VAR, state);
}

export function varsTake(set: usize, agg: usize, state: usize, tagAt: usize, tag: u8, payload: u64, row: u32): void {
  keepNumber(set, agg, state, tagAt, tag, payload, row);
}

export function varsFinish(agg: usize, state: usize, tag: u8): void {
  deviation(Agg.VARS, state);
}
