// What an as-of join keeps: for each key the newest row of the right side (partitions/table.ts), and the rows of the
// left side of the newest time, which wait until no row of that time can come any more.
//
//   state   0    table 32
//           32   held 48                          rows of the left that wait: columns, then keys (rows/store.ts)
//           80   heldTime f64                     their time, epoch ms
//           88   watermark f64 | forgotten u64    as it was told last; keys that were forgotten since nothing came for
//           them
//   entry   48   time f64                         of the row, epoch ms
//           56   a slot for each field (partitions/slot.ts)
import * as ctx from '../../batch/context';
import { N_HEAP, N_SPEC, N_STATE, accountOf, exhaust } from '../../node/node';
import { setDeadline } from '../../node/timers';
import { ASOF_FIELDS, ASOF_TOLERANCE, ASOF_TTL } from '../../gen/join-layouts';
import { LoadFault } from '../../gen/state-layouts';
import { lenOf, offOf } from '../../mem/layout';
import { poolFree, poolInit } from '../../mem/pool';
import { KEPT_SIZE, slotFree, slotLoad, slotOwn, slotPass, slotSave } from '../../partitions/slot';
import {
  ENTRY_HEAD,
  ENTRY_SEEN,
  TABLE_SIZE,
  entryDrop,
  entryKey,
  entryKeyLen,
  findEntry,
  findNullEntry,
  isNullEntry,
  takeDirty,
} from '../../partitions/table';
import { ENTRY_NEXT, TABLE_COUNT, TABLE_FIRST } from '../../partitions/table-slots';
import { ROWS_SIZE } from '../../rows/layout';
import { rowsLoad, rowsSave } from '../../rows/save';
import { ABSENT, Members, placeOf, savedCount } from '../../state/members';
import { readBool, readBytes, readF64, readFail, readFails, readTime, readU32, readVersion } from '../../state/reader';
import { writeBool, writeBytes, writeF64, writeTime, writeU32, writeVersion } from '../../state/writer';

export const ASOF_HELD: usize = TABLE_SIZE;
export const ASOF_HELD_TIME: usize = ASOF_HELD + ROWS_SIZE;
export const ASOF_WATERMARK: usize = ASOF_HELD_TIME + 8;
const FORGOTTEN: usize = ASOF_WATERMARK + 8;
export const ASOF_STATE_SIZE: u32 = <u32>FORGOTTEN + 8;

export const ENTRY_TIME: usize = ENTRY_HEAD;
const ENTRY_SLOTS: usize = ENTRY_TIME + 8;

/** Bytes of an entry. */
// @ts-ignore: decorator
@inline export function entrySize(spec: usize): u32 {
  return <u32>ENTRY_SLOTS + load<u32>(spec, ASOF_FIELDS) * KEPT_SIZE;
}

/** The slot of the first field. */
// @ts-ignore: decorator
@inline export function slotsOf(entry: usize): usize {
  return entry + ENTRY_SLOTS;
}

/** Makes what is kept the node's own: the batch was handed on, and goes. */
export function settle(node: usize, spec: usize, state: usize): void {
  const fields = load<u32>(spec, ASOF_FIELDS);
  const acct = accountOf(node);
  let isKept = true;
  for (let entry = takeDirty(state); entry; entry = takeDirty(state)) {
    let slot = slotsOf(entry);
    for (let f: u32 = 0; f < fields; f++, slot += KEPT_SIZE) if (!slotOwn(slot, acct)) isKept = false;
  }
  if (!isKept) exhaust(node);
}

/** Frees what the entry holds. */
export function freeSlots(spec: usize, entry: usize, acct: usize): void {
  const fields = load<u32>(spec, ASOF_FIELDS);
  let slot = slotsOf(entry);
  for (let f: u32 = 0; f < fields; f++, slot += KEPT_SIZE) slotFree(slot, acct);
}

/** Forgets rows that are too old for all that may come, and those for whose keys nothing came for so long. */
export function forgetOld(node: usize, spec: usize, state: usize): void {
  const tolerance = load<f64>(spec, ASOF_TOLERANCE);
  const ttl = load<f64>(spec, ASOF_TTL);
  if (!(tolerance < Infinity) && !(ttl > 0)) return;
  const oldest = load<f64>(state, ASOF_WATERMARK) - tolerance;
  const acct = accountOf(node);
  for (let entry = <usize>load<u32>(state, TABLE_FIRST); entry; entry = <usize>load<u32>(state, TABLE_FIRST)) {
    const isIdle = ttl > 0 && load<f64>(entry, ENTRY_SEEN) + ttl <= ctx.nowMs;
    if (!isIdle && !(load<f64>(entry, ENTRY_TIME) < oldest)) return;
    freeSlots(spec, entry, acct);
    entryDrop(state, entry, entrySize(spec), acct);
    if (isIdle) store<u64>(state, load<u64>(state, FORGOTTEN) + 1, FORGOTTEN);
  }
}

/** Asks for a tick when the key goes whose last row is oldest; one that was asked for before may come too early. */
export function awaitIdle(node: usize, spec: usize, state: usize): void {
  const ttl = load<f64>(spec, ASOF_TTL);
  const first = <usize>load<u32>(state, TABLE_FIRST);
  if (!(ttl > 0) || !first || load<u32>(node, N_HEAP)) return;
  if (!setDeadline(node, load<f64>(first, ENTRY_SEEN) + ttl)) exhaust(node);
}

/** When keys had their last row is told by the clock. */
export function asofSetBack(node: usize, ms: f64): void {
  const state = <usize>load<u32>(node, N_STATE);
  for (let entry = <usize>load<u32>(state, TABLE_FIRST); entry; entry = <usize>load<u32>(entry, ENTRY_NEXT)) {
    store<f64>(entry, load<f64>(entry, ENTRY_SEEN) - ms, ENTRY_SEEN);
  }
}

/** Keys whose newest row is kept. */
export function asofKept(node: usize): u64 {
  return load<u32>(<usize>load<u32>(node, N_STATE), TABLE_COUNT);
}

/** Keys that were forgotten since nothing came for them. */
export function asofForgotten(node: usize): u64 {
  return load<u64>(<usize>load<u32>(node, N_STATE), FORGOTTEN);
}

const VERSION: u32 = 1;

/** Saves the newest rows, oldest first, and those that wait. */
export function asofSave(node: usize): void {
  const spec = <usize>load<u32>(node, N_SPEC);
  const state = <usize>load<u32>(node, N_STATE);
  const fields = load<u32>(spec, ASOF_FIELDS);
  writeVersion(VERSION);
  writeF64(load<f64>(state, ASOF_HELD_TIME));
  writeF64(load<f64>(state, ASOF_WATERMARK));
  rowsSave(state + ASOF_HELD);
  writeU32(load<u32>(state, TABLE_COUNT));
  for (let entry = <usize>load<u32>(state, TABLE_FIRST); entry; entry = <usize>load<u32>(entry, ENTRY_NEXT)) {
    const isNull = isNullEntry(state, entry);
    writeBool(isNull);
    if (!isNull) writeBytes(entryKey(entry), entryKeyLen(entry));
    writeTime(load<f64>(entry, ENTRY_SEEN));
    writeTime(load<f64>(entry, ENTRY_TIME));
    let slot = slotsOf(entry);
    for (let f: u32 = 0; f < fields; f++, slot += KEPT_SIZE) slotSave(slot);
  }
}

const KEY_POOL: usize = memory.data(32, 16);

export function asofLoad(node: usize): bool {
  if (!readVersion(VERSION)) return false;
  const spec = <usize>load<u32>(node, N_SPEC);
  const state = <usize>load<u32>(node, N_STATE);
  const acct = accountOf(node);
  store<f64>(state, readF64(), ASOF_HELD_TIME);
  store<f64>(state, readF64(), ASOF_WATERMARK);
  rowsLoad(state + ASOF_HELD, Members.ROWS);
  const n = readU32();
  for (let i: u32 = 0; i < n && !readFails(); i++) loadEntry(spec, state, acct);
  return !readFails();
}

function loadEntry(spec: usize, state: usize, acct: usize): void {
  const before = load<u32>(state, TABLE_COUNT);
  let entry: usize = 0;
  if (readBool()) entry = findNullEntry(state, entrySize(spec), acct);
  else {
    poolInit(KEY_POOL, 256, 0);
    const key = readBytes(KEY_POOL);
    if (!readFails()) entry = findEntry(state, entrySize(spec), offOf(key), lenOf(key), acct);
    poolFree(KEY_POOL);
  }
  const seen = readTime();
  const time = readTime();
  if (readFails()) return;
  if (!entry || load<u32>(state, TABLE_COUNT) == before) {
    readFail(entry ? LoadFault.DAMAGED : LoadFault.MEMORY);
    return;
  }
  store<f64>(entry, seen, ENTRY_SEEN);
  store<f64>(entry, time, ENTRY_TIME);
  const fields = load<u32>(spec, ASOF_FIELDS);
  const saved = savedCount(Members.KEPT, fields);
  for (let i: u32 = 0; i < saved && !readFails(); i++) {
    const f = placeOf(Members.KEPT, i);
    if (f == ABSENT) slotPass();
    else if (f < fields) slotLoad(slotsOf(entry) + f * KEPT_SIZE, acct);
    else readFail(LoadFault.DAMAGED);
  }
}
