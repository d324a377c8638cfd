// lag(x, n, default, ignoreNull): the value n rows ago. The default is that of the partition's first row.
import { Tag } from '../../mem/layout';
import { LAG_HEAD } from '../spec';
import {
  argTag,
  argUniform,
  argVal,
  isTaken,
  keepsBatch,
  put,
  rowAt,
  selLen,
  stateOf,
  takesAll,
  whenFails,
} from '../run';
import { KEPT_SIZE, keep, keptTag, keptVal } from '../../partitions/slot';
import { argumentFails, flagFails } from './fail';
import { FunctionSpec } from '../../gen/analytic-layouts';
import { Pool } from '../../mem/pool';

/** Rows kept so far + 1; 0 before the first row. */
const KEPT: usize = 0;
const OLDEST: usize = 4;
/** Number of the argument that says whether nulls are skipped. */
const IGNORE: u32 = 2;

export function lagRows(fn: FunctionSpec): void {
  const size = fn.size;
  if (size == 1 && takesAll() && isPlain(argUniform(0)) && argUniform(1) < Tag.STR && argUniform(IGNORE) == Tag.BOOL) {
    lagOne();
    return;
  }
  for (let i: u32 = 0; i < selLen; i++) {
    const row = rowAt(i);
    if (argumentFails(0, row) || argumentFails(1, row) || flagFails('lag', IGNORE, row) || whenFails(row)) continue;
    const state = changetype<usize>(stateOf(row));
    if (!load<u32>(state, KEPT)) {
      store<u32>(state, 1, KEPT);
      if (keep(changetype<Pool>(state + LAG_HEAD), argTag(1, row), argVal(1, row))) keepsBatch(row);
    }
    const isFull = load<u32>(state, KEPT) > size;
    const oldest = load<u32>(state, OLDEST);
    const ring = state + LAG_HEAD + KEPT_SIZE;
    const from = size != 0 && isFull ? changetype<Pool>(ring + oldest * KEPT_SIZE) : changetype<Pool>(state + LAG_HEAD);
    const had = keptTag(from);
    if (size == 0 || had == Tag.MISSING) put(row, Tag.NULL, 0);
    else put(row, had, keptVal(from));
    const tag = argTag(0, row);
    if (size == 0 || !isTaken(row) || (tag <= Tag.NULL && argVal(IGNORE, row) != 0)) continue;
    const slot = isFull ? oldest : load<u32>(state, KEPT) - 1;
    if (keep(changetype<Pool>(ring + slot * KEPT_SIZE), tag, argVal(0, row))) keepsBatch(row);
    if (isFull) store<u32>(state, oldest + 1 == size ? 0 : oldest + 1, OLDEST);
    else store<u32>(state, load<u32>(state, KEPT) + 1, KEPT);
  }
}

/** True for tags of values that are neither null nor errors. */
// @ts-ignore: decorator
@inline function isPlain(tag: u8): bool {
  return tag > Tag.NULL && tag < Tag.ERROR;
}

/** As `lagRows` with n = 1, where all rows have values of one tag and the default refers to no memory. */
function lagOne(): void {
  const tag = argUniform(0);
  const refers = tag >= Tag.STR && tag != Tag.TIME;
  for (let i: u32 = 0; i < selLen; i++) {
    const row = rowAt(i);
    const state = changetype<usize>(stateOf(row));
    const ring = changetype<Pool>(state + LAG_HEAD + KEPT_SIZE);
    if (load<u32>(state, KEPT) > 1) put(row, keptTag(ring), keptVal(ring));
    else {
      if (!load<u32>(state, KEPT)) keep(changetype<Pool>(state + LAG_HEAD), argTag(1, row), argVal(1, row));
      const had = keptTag(changetype<Pool>(state + LAG_HEAD));
      put(
        row,
        had == Tag.MISSING ? Tag.NULL : had,
        had == Tag.MISSING ? 0 : keptVal(changetype<Pool>(state + LAG_HEAD)),
      );
      store<u32>(state, 2, KEPT);
    }
    keep(ring, tag, argVal(0, row));
    if (refers) keepsBatch(row);
  }
}
