// median(x).
import { Agg } from '../../gen/aggregates';
import { free } from '../../mem/alloc';
import { SLOT_SIZE, SLOT_TAG, Tag } from '../../mem/layout';
import { keepNumber } from '../keep';
import { giveResult } from '../result';
import { giveDouble, numbers, sort } from '../statistics';

export function medianTake(set: usize, agg: usize, state: usize, tagAt: usize, tag: u8, payload: u64, row: u32): void {
  keepNumber(set, agg, state, tagAt, tag, payload, row);
}

/** The middle value; the mean of the two middle ones of an even count. That of whole numbers is exact. */
export function medianFinish(agg: usize, list: usize, tag: u8): void {
  const at = numbers(Agg.MEDIAN, list);
  if (!at) return;
  const n = load<u32>(list, 4);
  const middle = at + (<usize>(n >> 1) << 3);
  if (areWhole(list)) {
    const slots = <usize>load<u32>(list);
    for (let i: u32 = 0; i < n; i++) store<i64>(at + (<usize>i << 3), load<i64>(slots + i * SLOT_SIZE));
    sort<i64>(at, n);
    if (n & 1) giveResult(Tag.I64, load<u64>(middle));
    else giveDouble(meanOf(load<i64>(middle - 8), load<i64>(middle)));
  } else {
    sort<f64>(at, n);
    giveDouble(n & 1 ? load<f64>(middle) : (load<f64>(middle - 8) + load<f64>(middle)) / 2);
  }
  free(at, n << 3, 0);
}

function areWhole(list: usize): bool {
  const slots = <usize>load<u32>(list);
  const n = load<u32>(list, 4);
  for (let i: u32 = 0; i < n; i++) if (load<u8>(slots + i * SLOT_SIZE, SLOT_TAG) != Tag.I64) return false;
  return true;
}

function meanOf(a: i64, b: i64): f64 {
  const sum = a + b;
  if (((a ^ sum) & (b ^ sum)) >= 0) return <f64>sum / 2;
  // The sum overflows. So large a mean is rounded as a double; its half only decides which way, for which any odd bit will do.
  return <f64>((a >> 1) + (b >> 1) + (a & b & 1) | ((a ^ b) & 1));
}
