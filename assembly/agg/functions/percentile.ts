// percentile_cont(x, p) and percentile_disc(x, p), p from 0 to 1.
import { Agg } from '../../gen/aggregates';
import { free } from '../../mem/alloc';
import { Tag, isNumber } from '../../mem/layout';
import { parameterError, rangeError } from '../error';
import { keepNumber } from '../keep';
import { giveResult } from '../result';
import { giveDouble, numbers, sort } from '../statistics';

export function percentileContTake(set: usize, agg: usize, state: usize, tagAt: usize, tag: u8, payload: u64, row: u32): void {
  keepNumber(set, agg, state, tagAt, tag, payload, row);
}

export function percentileDiscTake(set: usize, agg: usize, state: usize, tagAt: usize, tag: u8, payload: u64, row: u32): void {
  keepNumber(set, agg, state, tagAt, tag, payload, row);
}

/**
 * percentile_cont takes the mean of the two values around the position n * p, percentile_disc the value at the rank
 * ceil(n * p). The parameter stands behind the list, its tag is that of the state.
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
  const percent = p * 100;
  if (!(percent >= 0 && percent <= 100)) giveResult(Tag.ERROR, rangeError(fn));
  else {
    sort<f64>(at, n);
    if (fn == Agg.PERCENTILE_DISC) {
      const rank = <u32>ceil((<f64>n * percent) / 100);
      giveDouble(load<f64>(at + (<usize>(rank == 0 ? 0 : min(rank, n) - 1) << 3)));
    } else {
      const position = (percent / 100) * <f64>n;
      const i = <u32>position;
      if (i == 0) giveDouble(load<f64>(at));
      else if (<f64>i == position || i >= n) giveDouble(load<f64>(at + (<usize>(min(i, n) - 1) << 3)));
      else giveDouble((load<f64>(at + (<usize>(i - 1) << 3)) + load<f64>(at + (<usize>i << 3))) / 2);
    }
  }
  free(at, n << 3, 0);
}

export function percentileContFinish(agg: usize, state: usize, tag: u8): void {
  percentile(Agg.PERCENTILE_CONT, state, tag);
}

export function percentileDiscFinish(agg: usize, state: usize, tag: u8): void {
  percentile(Agg.PERCENTILE_DISC, state, tag);
}
