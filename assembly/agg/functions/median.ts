// median(x).
import { Agg } from '../../gen/aggregates';
import { free } from '../../mem/alloc';
import { Tag } from '../../mem/layout';
import { keepNumber } from '../state/keep';
import { giveResult } from '../state/result';
import { giveDouble, giveWhole, numbers, sort, takeWhole } from '../state/statistics';
import { AggregateSpec } from '../../gen/window-layouts';
import { GroupSet } from '../group/table';

export function medianTake(
  set: GroupSet,
  agg: AggregateSpec,
  state: usize,
  tagAt: usize,
  tag: u8,
  payload: u64,
  row: u32,
): void {
  keepNumber(set, agg, state, tagAt, tag, payload, row);
}

/** The middle value, or the mean of the two middle ones of an even count; the mean of whole numbers is exact. */
export function medianFinish(agg: AggregateSpec, list: usize, tag: u8): void {
  const at = numbers(Agg.MEDIAN, list);
  if (!at) return;
  const n = load<u32>(list, 4);
  const middle = at + ((<usize>(n >> 1)) << 3);
  if (takeWhole(list, at)) {
    sort<i64>(at, n);
    if (n & 1) giveResult(Tag.I64, load<u64>(middle));
    else giveMean(load<i64>(middle - 8), load<i64>(middle));
  } else {
    sort<f64>(at, n);
    giveDouble(n & 1 ? load<f64>(middle) : (load<f64>(middle - 8) + load<f64>(middle)) / 2);
  }
  free(at, n << 3, 0);
}

/** Sets the mean of two integers as the result, as a double unless that would lose digits of a whole number. */
function giveMean(a: i64, b: i64): void {
  const half = (a >> 1) + (b >> 1) + (a & b & 1);
  if (((a ^ b) & 1) == 0) giveWhole(half);
  else if (abs(half) < EXACT) giveDouble(<f64>half + 0.5);
  // A mean this large is rounded as a double. Its half only decides the direction: among even numbers, or among
  // multiples of four and more.
  else giveDouble(<f64>(abs(half) < EXACT << 1 ? half + (half & 1) : half | 1));
}

/** Largest magnitude of integers that are doubles without loss. */
const EXACT: i64 = 1 << 53;
