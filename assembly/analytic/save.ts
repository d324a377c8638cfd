// Saves and loads the state of an analytic node: the partitions in the order of their first rows, each with its key and
// states.
//
//   part       version | functions u32 | of each: number u32 | slots u32 | partition u32 | partitions u32 | of each:
//   count u32 | entries
//   entry      isNull u8 | key | seen time | states of the functions of the partition
//
// The functions of a part find their places among those of all nodes that see the same rows (state/members.ts), because
// a plan may have divided them otherwise. Functions that are gone are skipped; new ones begin empty.
import { accountOf } from '../node/node';
import { LoadFault } from '../gen/state-layouts';
import { alloc, free, WORKSPACE } from '../mem/alloc';
import { Pool, poolFree, poolInit } from '../mem/pool';
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
import { AnalyticFn, functionAt, headSize, headSizeOf, isList, keepsList, partitionAt, slotCount } from './spec';
import { tableAt } from './state';
import { entryKey, entryKeyLen, findEntry, findNullEntry, isNullEntry } from '../partitions/table';
import { AnalyticSpec, FunctionSpec } from '../gen/analytic-layouts';
import { Node } from '../gen/node-layouts';
import { PartitionTable, PartitionEntry } from '../partitions/table-slots';

const VERSION: u32 = 3;
const MOST_FUNCTIONS: u32 = 65536;
const MOST_SLOTS: u32 = 65536;

export function analyticSave(node: Node): void {
  const spec = changetype<AnalyticSpec>(node.spec);
  const state = node.state;
  const partitions = spec.partitions;
  writeVersion(VERSION);
  const functions = spec.functions;
  writeU32(functions);
  for (let k: u32 = 0; k < functions; k++) {
    const fn = functionAt(spec, k);
    writeU32(fn.fn);
    writeU32(slotCount(fn));
    writeU32(fn.partition);
  }
  writeU32(partitions);
  for (let i: u32 = 0; i < partitions; i++) {
    const table = tableAt(state, i);
    writeU32(table.count);
    for (let entry = table.first; entry; entry = entry.next) {
      const isNull = isNullEntry(table, entry);
      writeBool(isNull);
      if (!isNull) writeBytes(entryKey(entry), entryKeyLen(entry));
      writeTime(entry.seen);
      saveEntry(spec, i, entry);
    }
  }
}

function saveEntry(spec: AnalyticSpec, partition: u32, entry: PartitionEntry): void {
  const functions = spec.functions;
  for (let k: u32 = 0; k < functions; k++) {
    const fn = functionAt(spec, k);
    if (fn.partition != partition) continue;
    let at = changetype<usize>(entry) + fn.state;
    const head = headSize(fn);
    // Numbers of rows of a message have no use between messages.
    if (fn.fn == AnalyticFn.LAG) {
      writeU32(load<u32>(at));
      writeU32(load<u32>(at, 4));
    } else if (keepsList(fn)) collectSave(at);
    else if (fn.fn != AnalyticFn.ROW_NUMBER && head) {
      writeF64(load<f64>(at));
      writeU64(load<u64>(at, 8));
      writeU32(load<u32>(at, 16));
    }
    at += head;
    const slots = slotCount(fn);
    for (let s: u32 = 0; s < slots; s++, at += KEPT_SIZE) slotSave(changetype<Pool>(at));
  }
}

/**
 * Bytes of the record of a saved function: its number, slots and partition, then the target that has it now, or ABSENT,
 * and its place there.
 */
const SAVED_SIZE: u32 = 20;
const SLOTS: usize = 4;
const PARTITION: usize = 8;
const TARGET: usize = 12;
const PLACE: usize = 16;
const KEY_POOL: Pool = changetype<Pool>(memory.data(32, 16));

export function analyticLoad(node: Node): bool {
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
  const spec = changetype<AnalyticSpec>(targetNode(target).spec);
  // A function with the same key must have the same form; without keys the node must be unchanged.
  if (place >= spec.functions) readFail(LoadFault.DAMAGED);
  else {
    const fn = functionAt(spec, place);
    if (fn.fn != number || slotCount(fn) != slots) readFail(LoadFault.DAMAGED);
  }
}

/** Reads an entry of a saved partition into the entries of the functions that it has states for. */
function loadEntry(known: usize, functions: u32, partition: u32): void {
  const isNull = readBool();
  poolInit(KEY_POOL, 256, 0);
  const key: u64 = isNull ? 0 : readBytes(KEY_POOL);
  const seen = readTime();
  let entry: PartitionEntry = changetype<PartitionEntry>(0);
  let table: PartitionTable = changetype<PartitionTable>(0);
  for (let k: u32 = 0; k < functions && !readFails(); k++) {
    const at = known + k * SAVED_SIZE;
    if (load<u32>(at, PARTITION) != partition) continue;
    if (load<u32>(at, TARGET) == ABSENT) {
      passState(load<u32>(at), load<u32>(at, SLOTS));
      continue;
    }
    const node = targetNode(load<u32>(at, TARGET));
    const fn = functionAt(changetype<AnalyticSpec>(node.spec), load<u32>(at, PLACE));
    const own = tableAt(node.state, fn.partition);
    if (own != table) {
      table = own;
      entry = entryOf(node, fn, table, isNull, key);
      if (!entry) {
        readFail(LoadFault.MEMORY);
        break;
      }
      entry.seen = seen;
    }
    loadState(fn, changetype<usize>(entry) + fn.state, accountOf(node));
  }
  poolFree(KEY_POOL);
}

/** The entry of the key in the partition of the function, made when there is none; 0 when memory is exhausted. */
function entryOf(node: Node, fn: FunctionSpec, table: PartitionTable, isNull: bool, key: u64): PartitionEntry {
  const partition = partitionAt(changetype<AnalyticSpec>(node.spec), fn.partition);
  const size = partition.entrySize;
  if (isNull) return changetype<PartitionEntry>(findNullEntry(table, size, accountOf(node)));
  return changetype<PartitionEntry>(findEntry(table, size, offOf(key), lenOf(key), accountOf(node)));
}

/** Reads the state of a function to `at`. */
function loadState(fn: FunctionSpec, at: usize, acct: usize): void {
  const number = fn.fn;
  const head = headSize(fn);
  const slots = slotCount(fn);
  // A key that comes twice must not leave memory behind.
  if (keepsList(fn)) collectFree(changetype<Pool>(at));
  for (let s: u32 = 0, slot = at + head; s < slots; s++, slot += KEPT_SIZE) slotFree(slot, acct);
  memory.fill(at, 0, head + slots * KEPT_SIZE);
  if (number == AnalyticFn.LAG) {
    const size = fn.size;
    store<u32>(at, readUpTo(size + 1));
    store<u32>(at, readUpTo(size ? size - 1 : 0), 4);
  } else if (keepsList(fn)) collectLoad(changetype<Pool>(at), readU32(), acct);
  else if (number != AnalyticFn.ROW_NUMBER && head) {
    store<f64>(at, readF64());
    store<u64>(at, readU64(), 8);
    store<u32>(at, readU32(), 16);
  }
  at += head;
  for (let s: u32 = 0; s < slots && !readFails(); s++, at += KEPT_SIZE) slotLoad(changetype<Pool>(at), acct);
}

/** Skips the state of a function that the node no longer has. */
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
