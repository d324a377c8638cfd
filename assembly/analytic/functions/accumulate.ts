// acc_sum, acc_count, acc_min, acc_max, acc_avg of (x) or (x, begin, reset): over all rows of the partition, nulls left
// out. With conditions, from the row where `begin` is true through the one where `reset` is. The result is 0 outside of
// that, and at first.
import { Tag } from '../../mem/layout';
import { toF64 } from '../../value/number';
import { AnalyticFn } from '../spec';
import { argTag, argVal, failRow, isTaken, keepsBatch, put, rowAt, selLen, stateOf, whenFails } from '../run';
import { KEPT_SIZE, keep, keptTag, keptVal } from '../../partitions/slot';
import { Cmp, compareValues } from '../../value/compare';
import { argumentFails, flagFails, kindFault } from './fail';
import { FunctionSpec } from '../../gen/analytic-layouts';
import { Pool } from '../../mem/pool';

const COUNT: usize = 8;
const FLAGS: usize = 16;
/** Flag: a row with `begin` has come, and since then none with `reset`. */
const BEGUN: u32 = 1;

function nameOf(fn: u32): string {
  switch (fn) {
    case AnalyticFn.ACC_SUM:
      return 'acc_sum';
    case AnalyticFn.ACC_COUNT:
      return 'acc_count';
    case AnalyticFn.ACC_MIN:
      return 'acc_min';
    case AnalyticFn.ACC_MAX:
      return 'acc_max';
    case AnalyticFn.ACC_AVG:
      return 'acc_avg';
    case AnalyticFn.ACC_MAX_BY:
      return 'acc_max_by';
    default:
      return 'acc_min_by';
  }
}

export function accumulateRows(at: FunctionSpec): void {
  const fn = at.fn;
  const isBounded = at.args == 3;
  for (let i: u32 = 0; i < selLen; i++) {
    const row = rowAt(i);
    if (argumentFails(0, row)) continue;
    if (isBounded && (flagFails(nameOf(fn), 1, row) || flagFails(nameOf(fn), 2, row))) continue;
    if (whenFails(row)) continue;
    const state = stateOf(row);
    let isOpen = true;
    if (isBounded) {
      const begun = (load<u32>(changetype<usize>(state), FLAGS) & BEGUN) != 0;
      if (!begun) {
        store<u64>(changetype<usize>(state), 0);
        store<u64>(changetype<usize>(state), 0, COUNT);
      }
      isOpen = begun || argVal(1, row) != 0;
    }
    if (isOpen) {
      if (isTaken(row) && !take(fn, changetype<usize>(state), row)) continue;
      if (isBounded) store<u32>(changetype<usize>(state), argVal(2, row) != 0 ? 0 : BEGUN, FLAGS);
    }
    give(fn, changetype<usize>(state), row);
  }
}

/** Adds the value of the row to the state; false when the value is of the wrong kind. */
// @ts-ignore: decorator
@inline function take(fn: u32, state: usize, row: u32): bool {
  const tag = argTag(0, row);
  if (tag <= Tag.NULL) return true;
  const count = load<u64>(state, COUNT) + 1;
  if (fn != AnalyticFn.ACC_COUNT) {
    if (tag != Tag.F64 && tag != Tag.I64) {
      failRow(row, kindFault(nameOf(fn), 0, 'a number', row));
      return false;
    }
    const x = toF64(tag, argVal(0, row));
    const have = load<f64>(state);
    if (fn == AnalyticFn.ACC_SUM || fn == AnalyticFn.ACC_AVG) store<f64>(state, have + x);
    else if (count == 1 || (fn == AnalyticFn.ACC_MIN ? x < have : x > have)) store<f64>(state, x);
  }
  store<u64>(state, count, COUNT);
  return true;
}

// @ts-ignore: decorator
@inline function give(fn: u32, state: usize, row: u32): void {
  const count = load<u64>(state, COUNT);
  if (fn == AnalyticFn.ACC_COUNT) put(row, Tag.I64, count);
  else if (fn == AnalyticFn.ACC_AVG && count) put(row, Tag.F64, reinterpret<u64>(load<f64>(state) / <f64>count));
  else put(row, Tag.F64, load<u64>(state));
}

/** acc_max_by(x, y) and acc_min_by(x, y): x of the row with the largest, or smallest, y; the first of equal ones. */
export function extremeRows(at: FunctionSpec): void {
  const fn = at.fn;
  const wanted = fn == AnalyticFn.ACC_MAX_BY ? 1 : -1;
  for (let i: u32 = 0; i < selLen; i++) {
    const row = rowAt(i);
    if (argumentFails(0, row) || argumentFails(1, row) || whenFails(row)) continue;
    const state = stateOf(row);
    const best = changetype<Pool>(changetype<usize>(state) + KEPT_SIZE);
    const tag = argTag(1, row);
    if (tag > Tag.NULL && isTaken(row)) {
      if (tag != Tag.I64 && tag != Tag.F64 && tag != Tag.STR && tag != Tag.TIME) {
        failRow(row, kindFault(nameOf(fn), 1, 'a number, text or time', row));
        continue;
      }
      let order = wanted;
      if (keptTag(best) != Tag.MISSING) {
        order =
          tag == Tag.TIME && keptTag(best) != Tag.TIME
            ? Cmp.MISMATCH
            : compareValues(tag, argVal(1, row), keptTag(best), keptVal(best));
        if (order == Cmp.MISMATCH) {
          failRow(row, kindFault(nameOf(fn), 1, 'of the kind of those before', row));
          continue;
        }
      }
      if (order == wanted) {
        const isOfBatch = keep(state, argTag(0, row), argVal(0, row));
        if (keep(best, tag, argVal(1, row)) || isOfBatch) keepsBatch(row);
      }
    }
    if (keptTag(state) == Tag.MISSING) put(row, Tag.NULL, 0);
    else put(row, keptTag(state), keptVal(state));
  }
}
