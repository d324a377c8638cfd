// Keeps waiting rows (order/pending.ts) that stand only in the current batch, before the batch is gone.
import { BATCH_ROWS } from '../mem/layout';
import { rowsAppend, rowsFirst, rowsLast } from '../rows/store';
import { Pending, PendingRow, MAX_RUNS, entryAt, runOf } from './pending';
import { Page } from '../rows/page';

/**
 * Keeps the rows that `pendingName` has added and that were not taken, before the current batch is gone. `sel` has room
 * for their numbers. False when memory is exhausted.
 */
export function pendingKeep(pending: Pending, binds: usize, columns: u32, sel: usize, input: u32): bool {
  const run = runOf(pending, min(input, MAX_RUNS - 1));
  if (!run) return false;
  const entries = run.entries;
  const to = run.to;
  // Rows of the current batch stand last.
  const from = max(run.from, to > BATCH_ROWS ? to - BATCH_ROWS : 0);
  const heap = pending.heap;
  const heapCount = pending.heapCount;
  let n: u32 = 0;
  for (let i = from; i < to; i++) n = numberNamed(entryAt(entries, i), sel, n);
  for (let i: u32 = 0; i < heapCount; i++) n = numberNamed(entryAt(heap, i), sel, n);
  if (n == 0) return true;
  place = rowsLast(pending);
  placeAt = place ? place.to : 0;
  if (!rowsAppend(pending, binds, columns, sel, n, 0)) return false;
  if (!place) place = rowsFirst(pending);
  for (let i = from; i < to; i++) placeNamed(entryAt(entries, i));
  for (let i: u32 = 0; i < heapCount; i++) placeNamed(entryAt(heap, i));
  return true;
}

/** Place in the store of the next row that `pendingKeep` has added. */
let place: Page = changetype<Page>(0);
let placeAt: u32 = 0;

// @ts-ignore: decorator
@inline function numberNamed(entry: PendingRow, sel: usize, n: u32): u32 {
  if (entry.page) return n;
  store<u32>(sel + ((<usize>n) << 2), load<u32>(changetype<usize>(entry), offsetof<PendingRow>('page') + 4));
  return n + 1;
}

// @ts-ignore: decorator
@inline function placeNamed(entry: PendingRow): void {
  if (entry.page) return;
  if (placeAt == place.capacity) {
    place = place.next;
    placeAt = 0;
  }
  entry.page = place;
  store<u32>(changetype<usize>(entry), placeAt++, offsetof<PendingRow>('page') + 4);
}
