// Rows that wait for the watermark (order/pending.ts), saved and loaded.
import { rowLoad, rowSave } from '../rows/save';
import { LoadFault } from '../gen/state-layouts';
import { Members } from '../state/members';
import { readF64, readFail, readFails, readLength, readTime, readU64, readUpTo } from '../state/reader';
import { writeF64, writeTime, writeU32, writeU64 } from '../state/writer';
import {
  Pending,
  Run,
  PendingRow,
  MAX_RUNS,
  entryAt,
  heapRoom,
  heapUp,
  runAt,
  runOf,
  runRest,
  runRoom,
} from './pending';

/** Saves the rows of the runs, then those of the heap, each with time, sequence and values. */
export function pendingSave(pending: Pending): void {
  writeU64(pending.sequence);
  const runs = pending.runCount;
  writeU32(runs);
  for (let i: u32 = 0; i < runs; i++) {
    const run = runAt(pending, i);
    writeF64(run.lastTime);
    listSave(pending, changetype<usize>(entryAt(run.entries, run.from)), runRest(run));
  }
  listSave(pending, pending.heap, pending.heapCount);
}

function listSave(pending: Pending, list: usize, count: u32): void {
  writeU32(count);
  for (let i: u32 = 0; i < count; i++) {
    const entry = entryAt(list, i);
    writeTime(entry.time);
    writeU64(pending.sequence - entry.sequence);
    rowSave(pending, entry.page, load<u32>(changetype<usize>(entry), offsetof<PendingRow>('page') + 4));
  }
}

/** Adds saved rows; there must be none. */
export function pendingLoad(pending: Pending): void {
  pending.sequence = readU64();
  const runs = readUpTo(MAX_RUNS);
  for (let i: u32 = 0; i < runs && !readFails(); i++) {
    const run = runOf(pending, i);
    if (!run) {
      readFail(LoadFault.MEMORY);
      return;
    }
    run.lastTime = readF64();
    listLoad(pending, run);
  }
  listLoad(pending, changetype<Run>(0));
}

function listLoad(pending: Pending, run: Run): void {
  const count = readLength();
  for (let i: u32 = 0; i < count && !readFails(); i++) {
    const ms = readTime();
    const sequence = pending.sequence - readU64();
    const page = rowLoad(pending, count - i, Members.ROWS);
    if (!page) return;
    const entry = run ? runRoom(pending, run) : heapRoom(pending);
    if (!entry) {
      readFail(LoadFault.MEMORY);
      return;
    }
    entry.time = ms;
    entry.page = page;
    store<u32>(changetype<usize>(entry), page.to - 1, offsetof<PendingRow>('page') + 4);
    entry.sequence = sequence;
    if (!run) heapUp(pending);
  }
}
