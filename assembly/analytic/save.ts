// What an analytic node keeps, saved and loaded: the partitions in the order of their first rows, each with its key and states.
import { N_SPEC, N_STATE, accountOf } from '../flow/node';
import { LoadFault } from '../gen/state-layouts';
import { poolFree, poolInit } from '../mem/pool';
import { lenOf, offOf } from '../mem/layout';
import { readBool, readBytes, readF64, readFail, readFails, readTime, readU32, readU64, readUpTo, readVersion } from '../state/reader';
import { writeBool, writeBytes, writeF64, writeTime, writeU32, writeU64, writeVersion } from '../state/writer';
import { collectLoad, collectSave } from './functions/collect';
import { KEPT_SIZE, slotLoad, slotSave } from '../partitions/slot';
import {
  ANALYTIC_FUNCTIONS, ANALYTIC_PARTITIONS, AnalyticFn, FUNCTION_FN, FUNCTION_PARTITION, FUNCTION_SIZE, FUNCTION_STATE,
  PARTITION_ENTRY_SIZE, functionAt, headSize, keepsList, partitionAt, slotCount,
} from './spec';
import { tableAt } from './state';
import { ENTRY_NEXT, ENTRY_SEEN, TABLE_COUNT, TABLE_FIRST, entryKey, entryKeyLen, findEntry, findNullEntry, isNullEntry } from '../partitions/table';

const VERSION: u32 = 2;

export function analyticSave(node: usize): void {
  const spec = <usize>load<u32>(node, N_SPEC);
  const state = <usize>load<u32>(node, N_STATE);
  const partitions = load<u32>(spec, ANALYTIC_PARTITIONS);
  writeVersion(VERSION);
  for (let i: u32 = 0; i < partitions; i++) {
    const table = tableAt(state, i);
    writeU32(load<u32>(table, TABLE_COUNT));
    for (let entry = <usize>load<u32>(table, TABLE_FIRST); entry; entry = <usize>load<u32>(entry, ENTRY_NEXT)) {
      const isNull = isNullEntry(table, entry);
      writeBool(isNull);
      if (!isNull) writeBytes(entryKey(entry), entryKeyLen(entry));
      writeTime(load<f64>(entry, ENTRY_SEEN));
      saveEntry(spec, i, entry);
    }
  }
}

function saveEntry(spec: usize, partition: u32, entry: usize): void {
  const functions = load<u32>(spec, ANALYTIC_FUNCTIONS);
  for (let k: u32 = 0; k < functions; k++) {
    const fn = functionAt(spec, k);
    if (load<u16>(fn, FUNCTION_PARTITION) != partition) continue;
    let at = entry + load<u32>(fn, FUNCTION_STATE);
    const head = headSize(fn);
    // Numbers of rows of a message are of no use between messages.
    if (load<u16>(fn, FUNCTION_FN) == AnalyticFn.LAG) {
      writeU32(load<u32>(at));
      writeU32(load<u32>(at, 4));
    } else if (keepsList(fn)) collectSave(at);
    else if (load<u16>(fn, FUNCTION_FN) != AnalyticFn.ROW_NUMBER && head) {
      writeF64(load<f64>(at));
      writeU64(load<u64>(at, 8));
      writeU32(load<u32>(at, 16));
    }
    at += head;
    const slots = slotCount(fn);
    for (let s: u32 = 0; s < slots; s++, at += KEPT_SIZE) slotSave(at);
  }
}

const KEY_POOL: usize = memory.data(32, 16);

export function analyticLoad(node: usize): bool {
  if (!readVersion(VERSION)) return false;
  const spec = <usize>load<u32>(node, N_SPEC);
  const state = <usize>load<u32>(node, N_STATE);
  const partitions = load<u32>(spec, ANALYTIC_PARTITIONS);
  for (let i: u32 = 0; i < partitions; i++) {
    const n = readU32();
    for (let k: u32 = 0; k < n && !readFails(); k++) {
      const entry = readEntry(tableAt(state, i), load<u32>(partitionAt(spec, i), PARTITION_ENTRY_SIZE), accountOf(node));
      if (entry) loadEntry(spec, i, entry, accountOf(node));
    }
  }
  return !readFails();
}

/** Makes the partition whose key comes next; 0 when it can't be read or there is one already. */
function readEntry(table: usize, size: u32, acct: usize): usize {
  const before = load<u32>(table, TABLE_COUNT);
  let entry: usize = 0;
  if (readBool()) entry = findNullEntry(table, size, acct);
  else {
    poolInit(KEY_POOL, 256, 0);
    const key = readBytes(KEY_POOL);
    if (!readFails()) entry = findEntry(table, size, offOf(key), lenOf(key), acct);
    poolFree(KEY_POOL);
  }
  const seen = readTime();
  if (readFails()) return 0;
  if (!entry) {
    readFail(LoadFault.MEMORY);
    return 0;
  }
  if (load<u32>(table, TABLE_COUNT) == before) {
    readFail(LoadFault.DAMAGED);
    return 0;
  }
  store<f64>(entry, seen, ENTRY_SEEN);
  return entry;
}

function loadEntry(spec: usize, partition: u32, entry: usize, acct: usize): void {
  const functions = load<u32>(spec, ANALYTIC_FUNCTIONS);
  for (let k: u32 = 0; k < functions; k++) {
    const fn = functionAt(spec, k);
    if (load<u16>(fn, FUNCTION_PARTITION) != partition) continue;
    let at = entry + load<u32>(fn, FUNCTION_STATE);
    const head = headSize(fn);
    if (load<u16>(fn, FUNCTION_FN) == AnalyticFn.LAG) {
      const size = load<u32>(fn, FUNCTION_SIZE);
      store<u32>(at, readUpTo(size + 1));
      store<u32>(at, readUpTo(size ? size - 1 : 0), 4);
    } else if (keepsList(fn)) collectLoad(at, readU32(), acct);
    else if (load<u16>(fn, FUNCTION_FN) != AnalyticFn.ROW_NUMBER && head) {
      store<f64>(at, readF64());
      store<u64>(at, readU64(), 8);
      store<u32>(at, readU32(), 16);
    }
    at += head;
    const slots = slotCount(fn);
    for (let s: u32 = 0; s < slots && !readFails(); s++, at += KEPT_SIZE) slotLoad(at, acct);
  }
}
