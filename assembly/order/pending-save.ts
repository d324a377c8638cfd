// Rows that wait for the watermark (order/pending.ts), saved and loaded.
import { PAGE_TO } from '../rows/page';
import { rowLoad, rowSave } from '../rows/save';
import { LoadFault } from '../gen/state-layouts';
import { Members } from '../state/members';
import { readF64, readFail, readFails, readLength, readTime, readU64, readUpTo } from '../state/reader';
import { writeF64, writeTime, writeU32, writeU64 } from '../state/writer';
import {
  HEAP,
  HEAP_COUNT,
  LAST_TIME,
  MAX_RUNS,
  PENDING_ROW,
  PENDING_SEQUENCE,
  RUN_COUNT,
  RUN_FROM,
  SEQUENCE,
  entryAt,
  heapRoom,
  heapUp,
  runAt,
  runOf,
  runRest,
  runRoom,
} from './pending';

/** Saves the rows of the runs, then those of the heap, each with time, sequence and values. */
export function pendingSave(pending: usize): void {
  writeU64(load<u64>(pending, SEQUENCE));
  const runs = load<u32>(pending, RUN_COUNT);
  writeU32(runs);
  for (let i: u32 = 0; i < runs; i++) {
    const run = runAt(pending, i);
    writeF64(load<f64>(run, LAST_TIME));
    listSave(pending, entryAt(<usize>load<u32>(run), load<u32>(run, RUN_FROM)), runRest(run));
  }
  listSave(pending, <usize>load<u32>(pending, HEAP), load<u32>(pending, HEAP_COUNT));
}

function listSave(pending: usize, list: usize, count: u32): void {
  writeU32(count);
  for (let i: u32 = 0; i < count; i++) {
    const entry = entryAt(list, i);
    writeTime(load<f64>(entry));
    writeU64(load<u64>(pending, SEQUENCE) - load<u64>(entry, PENDING_SEQUENCE));
    rowSave(pending, <usize>load<u32>(entry, PENDING_ROW), load<u32>(entry, PENDING_ROW + 4));
  }
}

/** Adds saved rows; there must be none. */
export function pendingLoad(pending: usize): void {
  store<u64>(pending, readU64(), SEQUENCE);
  const runs = readUpTo(MAX_RUNS);
  for (let i: u32 = 0; i < runs && !readFails(); i++) {
    const run = runOf(pending, i);
    if (!run) {
      readFail(LoadFault.MEMORY);
      return;
    }
    store<f64>(run, readF64(), LAST_TIME);
    listLoad(pending, run);
  }
  listLoad(pending, 0);
}

function listLoad(pending: usize, run: usize): void {
  const count = readLength();
  for (let i: u32 = 0; i < count && !readFails(); i++) {
    const ms = readTime();
    const sequence = load<u64>(pending, SEQUENCE) - readU64();
    const page = rowLoad(pending, count - i, Members.ROWS);
    if (!page) return;
    const entry = run ? runRoom(pending, run) : heapRoom(pending);
    if (!entry) {
      readFail(LoadFault.MEMORY);
      return;
    }
    store<f64>(entry, ms);
    store<u32>(entry, <u32>page, PENDING_ROW);
    store<u32>(entry, load<u32>(page, PAGE_TO) - 1, PENDING_ROW + 4);
    store<u64>(entry, sequence, PENDING_SEQUENCE);
    if (!run) heapUp(pending);
  }
}
