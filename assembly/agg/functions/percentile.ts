// percentile_cont(x, p) and percentile_disc(x, p), p from 0 to 1.
import { Agg } from '../../gen/aggregates';
import { free } from '../../mem/alloc';
import { Tag, isNumber } from '../../mem/layout';
import { parameterError, rangeError } from '../state/error';
import { keepNumber } from '../state/keep';
import { giveResult } from '../state/result';
import { giveDouble, giveWhole, numbers, sort, takeWhole } from '../state/statistics';
import { AggregateSpec } from '../../gen/window-layouts';
import { GroupSet } from '../group/table';

export function percentileContTake(
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

export function percentileDiscTake(
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

/**
 * percentile_disc takes the value at the rank ceil(n * p). percentile_cont takes the one at the position (n - 1) * p,
 * from 0; between two values it interpolates. The parameter stands behind the list, and its tag is that of the state.
 */
function percentile(fn: u32, list: usize, parameterTag: u8): void {
  if (!isNumber(parameterTag)) {
    if (load<u32>(list, 4) == 0) giveResult(Tag.NULL, 0);
    else giveResult(Tag.ERROR, parameterError(fn, 'float64', parameterTag, load<u64>(list, 16)));
    return;
  }
  const p = parameterTag == Tag.I64 ? <f64>load<i64>(list, 16) : load<f64>(list, 16);
  const at = numbers(fn, list);
  if (!at) return;
  const n = load<u32>(list, 4);
  if (!(p >= 0 && p <= 1)) giveResult(Tag.ERROR, rangeError(fn));
  else if (fn == Agg.PERCENTILE_CONT) {
    sort<f64>(at, n);
    giveBetween(at, p * <f64>(n - 1), n);
  } else {
    const rank = <u32>ceil((<f64>n * (p * 100)) / 100);
    const place = at + ((<usize>(rank == 0 ? 0 : min(rank, n) - 1)) << 3);
    if (takeWhole(list, at)) {
      sort<i64>(at, n);
      giveWhole(load<i64>(place));
    } else {
      sort<f64>(at, n);
      giveDouble(load<f64>(place));
    }
  }
  free(at, n << 3, 0);
}

/** Sets the value at a position between two of the sorted numbers as the result. */
function giveBetween(at: usize, position: f64, n: u32): void {
  const i = min(<u32>position, n - 1);
  const low = load<f64>(at + ((<usize>i) << 3));
  const part = position - <f64>i;
  if (part == 0 || i == n - 1) giveDouble(low);
  else giveDouble(low + (load<f64>(at + ((<usize>(i + 1)) << 3)) - low) * part);
}

export function percentileContFinish(agg: AggregateSpec, state: usize, tag: u8): void {
  percentile(Agg.PERCENTILE_CONT, state, tag);
}

export function percentileDiscFinish(agg: AggregateSpec, state: usize, tag: u8): void {
  percentile(Agg.PERCENTILE_DISC, state, tag);
}
