// What an analytic node keeps, saved and loaded: the partitions in the order of their first rows, each with its key and
// states.
//
//   part       version | functions u32 | of each: number u32 | slots u32 | partition u32 | partitions u32 | of each:
//   count u32 | entries
//   entry      isNull u8 | key | seen time | states of the functions of the partition
//
// The functions of a part find their place among those of all nodes that see the same rows (state/members.ts): a plan
// may have divided them otherwise. Those that are gone are passed over, new ones begin empty.
import { N_SPEC, N_STATE, accountOf } from '../node/node';
import { LoadFault } from '../gen/state-layouts';
import { alloc, free, WORKSPACE } from '../mem/alloc';
import { poolFree, poolInit } from '../mem/pool';
import { lenOf, offOf } from '../mem/layout';
import { ABSENT, Members, placeOf, placeTarget, savedCount, targetNode } from '../state/members';
import {
  readBool,
  readBytes,
  readF64,
  readFail,
  readFails,
  readTime,
  readU32,
  readU64,
  readUpTo,
  readVersion,
} from '../state/reader';
import { writeBool, writeBytes, writeF64, writeTime, writeU32, writeU64, writeVersion } from '../state/writer';
import { collectFree, collectLoad, collectPass, collectSave } from './functions/collect';
import { KEPT_SIZE, slotFree, slotLoad, slotPass, slotSave } from '../partitions/slot';
import {
  ANALYTIC_FUNCTIONS,
  ANALYTIC_PARTITIONS,
  AnalyticFn,
  FUNCTION_FN,
  FUNCTION_PARTITION,
  FUNCTION_SIZE,
  FUNCTION_STATE,
  PARTITION_ENTRY_SIZE,
  functionAt,
  headSize,
  headSizeOf,
  isList,
  keepsList,
  partitionAt,
  slotCount,
} from './spec';
import { tableAt } from './state';
import { ENTRY_SEEN, entryKey, entryKeyLen, findEntry, findNullEntry, isNullEntry } from '../partitions/table';
import { ENTRY_NEXT, TABLE_COUNT, TABLE_FIRST } from '../partitions/table-slots';

const VERSION: u32 = 3;
const MOST_FUNCTIONS: u32 = 65536;
const MOST_SLOTS: u32 = 65536;

export function analyticSave(node: usize): void {
  const spec = <usize>load<u32>(node, N_SPEC);
  const state = <usize>load<u32>(node, N_STATE);
  const partitions = load<u32>(spec, ANALYTIC_PARTITIONS);
  writeVersion(VERSION);
  const functions = load<u32>(spec, ANALYTIC_FUNCTIONS);
  writeU32(functions);
  for (let k: u32 = 0; k < functions; k++) {
    const fn = functionAt(spec, k);
    writeU32(load<u16>(fn, FUNCTION_FN));
    writeU32(slotCount(fn));
    writeU32(load<u16>(fn, FUNCTION_PARTITION));
  }
  writeU32(partitions);
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

/**
 * What is known of a saved function: its number, slots and partition, then who has it now: target, or ABSENT, and place
 * there.
 */
const SAVED_SIZE: u32 = 20;
const SLOTS: usize = 4;
const PARTITION: usize = 8;
const TARGET: usize = 12;
const PLACE: usize = 16;
const KEY_POOL: usize = memory.data(32, 16);

export function analyticLoad(node: usize): bool {
  if (!readVersion(VERSION)) return false;
  const functions = readUpTo(MOST_FUNCTIONS);
  if (readFails()) return false;
  const known = alloc(max(functions, 1) * SAVED_SIZE, WORKSPACE);
  if (!known) {
    readFail(LoadFault.MEMORY);
    return false;
  }
  for (let k: u32 = 0; k < functions && !readFails(); k++) loadFunction(known, k);
  if (savedCount(Members.FUNCTIONS, functions) != functions) readFail(LoadFault.DAMAGED);
  const partitions = readUpTo(functions);
  for (let i: u32 = 0; i < partitions && !readFails(); i++) {
    const n = readU32();
    for (let k: u32 = 0; k < n && !readFails(); k++) loadEntry(known, functions, i);
  }
  free(known, max(functions, 1) * SAVED_SIZE, WORKSPACE);
  return !readFails();
}

function loadFunction(known: usize, k: u32): void {
  const at = known + k * SAVED_SIZE;
  const number = readU32();
  const slots = readUpTo(MOST_SLOTS);
  let place = placeOf(Members.FUNCTIONS, k);
  const target = placeTarget;
  store<u32>(at, number);
  store<u32>(at, slots, SLOTS);
  store<u32>(at, readU32(), PARTITION);
  store<u32>(at, place == ABSENT ? ABSENT : target, TARGET);
  store<u32>(at, place, PLACE);
  if (place == ABSENT) return;
  const spec = <usize>load<u32>(targetNode(target), N_SPEC);
  // What means the same is the same; without keys the node has to be as it was.
  if (place >= load<u32>(spec, ANALYTIC_FUNCTIONS)) readFail(LoadFault.DAMAGED);
  else {
    const fn = functionAt(spec, place);
    if (load<u16>(fn, FUNCTION_FN) != number || slotCount(fn) != slots) readFail(LoadFault.DAMAGED);
  }
}

/** Reads an entry of a saved partition into those of the functions that were kept for it. */
function loadEntry(known: usize, functions: u32, partition: u32): void {
  const isNull = readBool();
  poolInit(KEY_POOL, 256, 0);
  const key: u64 = isNull ? 0 : readBytes(KEY_POOL);
  const seen = readTime();
  let entry: usize = 0;
  let table: usize = 0;
  for (let k: u32 = 0; k < functions && !readFails(); k++) {
    const at = known + k * SAVED_SIZE;
    if (load<u32>(at, PARTITION) != partition) continue;
    if (load<u32>(at, TARGET) == ABSENT) {
      passState(load<u32>(at), load<u32>(at, SLOTS));
      continue;
    }
    const node = targetNode(load<u32>(at, TARGET));
    const fn = functionAt(<usize>load<u32>(node, N_SPEC), load<u32>(at, PLACE));
    const own = tableAt(<usize>load<u32>(node, N_STATE), load<u16>(fn, FUNCTION_PARTITION));
    if (own != table) {
      table = own;
      entry = entryOf(node, fn, table, isNull, key);
      if (!entry) {
        readFail(LoadFault.MEMORY);
        break;
      }
      store<f64>(entry, seen, ENTRY_SEEN);
    }
    loadState(fn, entry + load<u32>(fn, FUNCTION_STATE), accountOf(node));
  }
  poolFree(KEY_POOL);
}

/** The entry of the key in the partition of the function, made when there is none; 0 when memory is exhausted. */
function entryOf(node: usize, fn: usize, table: usize, isNull: bool, key: u64): usize {
  const partition = partitionAt(<usize>load<u32>(node, N_SPEC), load<u16>(fn, FUNCTION_PARTITION));
  const size = load<u32>(partition, PARTITION_ENTRY_SIZE);
  if (isNull) return findNullEntry(table, size, accountOf(node));
  return findEntry(table, size, offOf(key), lenOf(key), accountOf(node));
}

/** Reads the state of a function in place of what stands at `at`. */
function loadState(fn: usize, at: usize, acct: usize): void {
  const number = load<u16>(fn, FUNCTION_FN);
  const head = headSize(fn);
  const slots = slotCount(fn);
  // A key that comes twice must not leave memory behind.
  if (keepsList(fn)) collectFree(at);
  for (let s: u32 = 0, slot = at + head; s < slots; s++, slot += KEPT_SIZE) slotFree(slot, acct);
  memory.fill(at, 0, head + slots * KEPT_SIZE);
  if (number == AnalyticFn.LAG) {
    const size = load<u32>(fn, FUNCTION_SIZE);
    store<u32>(at, readUpTo(size + 1));
    store<u32>(at, readUpTo(size ? size - 1 : 0), 4);
  } else if (keepsList(fn)) collectLoad(at, readU32(), acct);
  else if (number != AnalyticFn.ROW_NUMBER && head) {
    store<f64>(at, readF64());
    store<u64>(at, readU64(), 8);
    store<u32>(at, readU32(), 16);
  }
  at += head;
  for (let s: u32 = 0; s < slots && !readFails(); s++, at += KEPT_SIZE) slotLoad(at, acct);
}

/** Reads the state of a function that is gone. */
function passState(number: u32, slots: u32): void {
  if (number == AnalyticFn.LAG) {
    readU32();
    readU32();
  } else if (isList(number)) {
    readU32();
    collectPass();
  } else if (number != AnalyticFn.ROW_NUMBER && headSizeOf(number)) {
    readF64();
    readU64();
    readU32();
  }
  for (let s: u32 = 0; s < slots && !readFails(); s++) slotPass();
}
