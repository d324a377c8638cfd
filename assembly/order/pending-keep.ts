// Rows that wait for the watermark (order/pending.ts) as they stand in the batch at work, kept before that goes.
import { BATCH_ROWS } from '../mem/layout';
import { PAGE_CAPACITY, PAGE_NEXT, PAGE_TO } from '../rows/page';
import { rowsAppend, rowsFirst, rowsLast } from '../rows/store';
import { HEAP, HEAP_COUNT, MAX_RUNS, PENDING_ROW, RUN_FROM, RUN_TO, entryAt, runOf } from './pending';

/**
 * Keeps the rows that `pendingName` let wait and that were not taken, before the batch at work goes; `sel` has room for
 * their numbers. False when memory is exhausted.
 */
export function pendingKeep(pending: usize, binds: usize, columns: u32, sel: usize, input: u32): bool {
  const run = runOf(pending, min(input, MAX_RUNS - 1));
  if (!run) return false;
  const entries = <usize>load<u32>(run);
  const to = load<u32>(run, RUN_TO);
  // What the batch brought stands last.
  const from = max(load<u32>(run, RUN_FROM), to > BATCH_ROWS ? to - BATCH_ROWS : 0);
  const heap = <usize>load<u32>(pending, HEAP);
  const heapCount = load<u32>(pending, HEAP_COUNT);
  let n: u32 = 0;
  for (let i = from; i < to; i++) n = numberNamed(entryAt(entries, i), sel, n);
  for (let i: u32 = 0; i < heapCount; i++) n = numberNamed(entryAt(heap, i), sel, n);
  if (n == 0) return true;
  place = rowsLast(pending);
  placeAt = place ? load<u32>(place, PAGE_TO) : 0;
  if (!rowsAppend(pending, binds, columns, sel, n, 0)) return false;
  if (!place) place = rowsFirst(pending);
  for (let i = from; i < to; i++) placeNamed(entryAt(entries, i));
  for (let i: u32 = 0; i < heapCount; i++) placeNamed(entryAt(heap, i));
  return true;
}

/** Where the next row stands of those that `pendingKeep` has added. */
let place: usize = 0;
let placeAt: u32 = 0;

// @ts-ignore: decorator
@inline function numberNamed(entry: usize, sel: usize, n: u32): u32 {
  if (load<u32>(entry, PENDING_ROW)) return n;
  store<u32>(sel + ((<usize>n) << 2), load<u32>(entry, PENDING_ROW + 4));
  return n + 1;
}

// @ts-ignore: decorator
@inline function placeNamed(entry: usize): void {
  if (load<u32>(entry, PENDING_ROW)) return;
  if (placeAt == load<u32>(place, PAGE_CAPACITY)) {
    place = <usize>load<u32>(place, PAGE_NEXT);
    placeAt = 0;
  }
  store<u32>(entry, <u32>place, PENDING_ROW);
  store<u32>(entry, placeAt++, PENDING_ROW + 4);
}
