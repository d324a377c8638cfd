// Saved state of a pattern node: for each key its rows with what the conditions say of them, and its searches. Runs
// that several partial matches have are saved with each of them.
import { accountOf } from '../node/node';
import { LoadFault } from '../gen/state-layouts';
import { Node } from '../gen/node-layouts';
import { PatternSpec } from '../gen/pattern-layouts';
import { allocZeroed, free } from '../mem/alloc';
import { lenOf, offOf } from '../mem/layout';
import { Pool, poolFree, poolInit } from '../mem/pool';
import { entryKey, entryKeyLen, findEntry, findNullEntry, isNullEntry } from '../partitions/table';
import { PAGE_TIMES, timeAt } from '../rows/page';
import { rowLoad, rowSave } from '../rows/save';
import { Members } from '../state/members';
import {
  readBytes,
  readFail,
  readFails,
  readLength,
  readTime,
  readU32,
  readU64,
  readUpTo,
  readVersion,
} from '../state/reader';
import { writeBytes, writeTime, writeU32, writeU64, writeVersion } from '../state/writer';
import { Chain, chainLoad, chainSave, nextStart } from './chain';
import { planAll } from './time';
import { specOf } from './spec';
import {
  Partial,
  Partition,
  PatternState,
  Run,
  Wait,
  addRef,
  addSearch,
  addWaiting,
  newRun,
  hasBest,
  partialsOf,
  setBest,
  refAt,
  setPartials,
} from './state';

const VERSION: u32 = 4;

export function patternSave(node: Node): void {
  const state = changetype<PatternState>(node.state);
  writeVersion(VERSION);
  writeU32(state.dropped);
  writeU32(state.order);
  writeU32(state.count);
  for (let entry = state.first; entry; entry = entry.next) {
    const isNull = isNullEntry(state, entry);
    writeU32(isNull ? 1 : 0);
    if (!isNull) writeBytes(entryKey(entry), entryKeyLen(entry));
    writeTime(entry.seen);
    savePartition(state, changetype<Partition>(entry));
  }
}

function savePartition(state: PatternState, partition: Partition): void {
  const base = partition.base;
  const count = partition.count;
  writeU32(count);
  for (let i: u32 = 0; i < count; i++) {
    const ref = refAt(partition, base + i);
    writeTime(timeAt(ref.page, ref.row));
    writeU64(ref.bits);
    rowSave(state.rows, ref.page, ref.row);
  }
  // Numbers are counted from the first row that is held.
  writeU32(partition.limit - base);
  const chain = changetype<Chain>(state.chain);
  writeU32((chain ? nextStart(chain, partition) : partition.begin) - base);
  writeU32(chain ? 0 : partition.covered - base);
  writeU64(partition.matches);
  writeU32(partition.order);
  let waiting: u32 = 0;
  for (let one = partition.waiting; one; one = one.next) waiting++;
  writeU32(waiting);
  for (let one = partition.waiting; one; one = one.next) {
    writeU32(one.start - base);
    writeU32(one.kind);
    writeU32(one.need - base);
    writeU64(one.number);
    saveRuns(one.best, base);
  }
  if (chain) {
    chainSave(chain, partition);
    return;
  }
  let searches: u32 = 0;
  for (let search = partition.search; search; search = search.next) searches++;
  writeU32(searches);
  for (let search = partition.search; search; search = search.next) {
    writeU32(search.start - base);
    writeU32(search.at - base);
    writeU32(<u32>hasBest(search));
    if (hasBest(search)) saveRuns(search.best, base);
    writeU32(search.count);
    const partials = partialsOf(search);
    for (let i: u32 = 0; i < search.count; i++) {
      const partial = changetype<Partial>(partials + ((<usize>i) << 3));
      writeU32(partial.step);
      saveRuns(partial.rows, base);
    }
  }
}

/** The runs, the last one first. */
function saveRuns(rows: Run, base: u32): void {
  let n: u32 = 0;
  for (let run = rows; run; run = run.previous) n++;
  writeU32(n);
  for (let run = rows; run; run = run.previous) {
    writeU32(((<u32>run.variable) << 1) | <u32>run.isExcluded);
    writeU32(run.end - base);
  }
}

/** Fills a node that was just made. */
export function patternLoad(node: Node): bool {
  if (!readVersion(VERSION)) return false;
  const state = changetype<PatternState>(node.state);
  state.dropped = readU32();
  state.order = readU32();
  const count = readLength();
  for (let i: u32 = 0; i < count && !readFails(); i++) {
    const partition = readEntry(node, state);
    const seen = readTime();
    if (partition && state.isAging) partition.seen = seen;
    if (partition && !readFails()) loadPartition(node, state, partition);
  }
  if (!readFails()) planAll(node);
  return !readFails();
}

const KEY_POOL: Pool = changetype<Pool>(memory.data(32, 16));

function readEntry(node: Node, state: PatternState): Partition {
  const acct = accountOf(node);
  let entry: usize = 0;
  if (readUpTo(1)) entry = readFails() ? 0 : findNullEntry(state, state.entrySize, acct);
  else {
    poolInit(KEY_POOL, 256, 0);
    const key = readBytes(KEY_POOL);
    if (!readFails()) entry = findEntry(state, state.entrySize, offOf(key), lenOf(key), acct);
    poolFree(KEY_POOL);
  }
  if (!entry && !readFails()) readFail(LoadFault.MEMORY);
  return changetype<Partition>(entry);
}

function loadPartition(node: Node, state: PatternState, partition: Partition): void {
  const acct = accountOf(node);
  const spec = specOf(node);
  const count = readLength();
  for (let i: u32 = 0; i < count && !readFails(); i++) {
    const ms = readTime();
    const bits = readU64();
    if (readFails()) return;
    const page = rowLoad(state.rows, count - i, Members.ROWS);
    if (!page) return;
    store<f64>(changetype<usize>(page) + ((<usize>(page.to - 1)) << 3), ms, PAGE_TIMES);
    if (!addRef(partition, page, page.to - 1, bits, acct)) readFail(LoadFault.MEMORY);
  }
  partition.arrived = count;
  partition.limit = readUpTo(count);
  partition.begin = readUpTo(count);
  partition.covered = readU32();
  partition.matches = readU64();
  partition.order = readU32();
  loadWaiting(partition, spec, count, acct);
  const searches = readUpTo(count);
  for (let i: u32 = 0; i < searches && !readFails(); i++) loadSearch(partition, spec, count, acct);
  if (state.chain && !readFails()) chainLoad(changetype<Chain>(state.chain), spec, partition, acct);
}

function loadWaiting(partition: Partition, spec: PatternSpec, rows: u32, acct: usize): void {
  const n = readLength();
  for (let i: u32 = 0; i < n && !readFails(); i++) {
    const start = readUpTo(rows);
    const kind = readUpTo(Wait.COVER);
    // Measures look at most so far beyond the rows that are there.
    const need = readUpTo(rows + spec.after);
    if (readFails()) return;
    const one = addWaiting(partition, start, kind, need, acct);
    if (!one) {
      readFail(LoadFault.MEMORY);
      return;
    }
    one.number = readU64();
    one.best = loadRuns(spec, start, rows, acct);
  }
}

function loadSearch(partition: Partition, spec: PatternSpec, rows: u32, acct: usize): void {
  const start = readUpTo(rows);
  const at = readUpTo(rows);
  const isFound = readUpTo(1);
  if (!readFails() && (at < start || start == rows)) readFail(LoadFault.DAMAGED);
  if (readFails()) return;
  const search = addSearch(partition, start, acct);
  if (!search) {
    readFail(LoadFault.MEMORY);
    return;
  }
  search.at = at;
  if (isFound) setBest(search, loadRuns(spec, start, at, acct));
  const count = readLength();
  if (readFails()) return;
  const partials: usize = count > 1 << 26 ? 0 : allocZeroed(max(count << 3, 8), acct);
  if (!partials) {
    readFail(LoadFault.MEMORY);
    return;
  }
  for (let i: u32 = 0; i < count && !readFails(); i++) {
    const partial = changetype<Partial>(partials + ((<usize>i) << 3));
    partial.step = readUpTo(spec.steps - 1);
    partial.rows = loadRuns(spec, start, at, acct);
  }
  // What was read belongs to the search, also where the rest can't be read: it is freed with it.
  if (!setPartials(partition, search, partials, count, acct)) readFail(LoadFault.MEMORY);
  free(partials, max(count << 3, 8), acct);
}

/** Reads runs of the rows from `start` to `at`, the last one first. */
function loadRuns(spec: PatternSpec, start: u32, at: u32, acct: usize): Run {
  const n = readLength();
  let last = changetype<Run>(0);
  let next = changetype<Run>(0);
  let end = at;
  for (let i: u32 = 0; i < n && !readFails(); i++) {
    const variable = readUpTo(spec.variables * 2 - 1);
    const to = readUpTo(end);
    if (!readFails() && (to <= start || (next && to == end))) readFail(LoadFault.DAMAGED);
    if (readFails()) break;
    const run = newRun(changetype<Run>(0), variable >> 1, variable & 1, to, spec.runSize, acct);
    if (!run) {
      readFail(LoadFault.MEMORY);
      break;
    }
    if (next) next.previous = run;
    else last = run;
    next = run;
    end = to;
  }
  return last;
}
