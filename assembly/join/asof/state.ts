// State of an as-of join: for each key the newest row of the right side (partitions/table.ts), and the rows of the left
// side of the newest time, which wait until no row of that time can come any more.
//
//   state   0    table 32
//           32   held 48                          rows of the left that wait: columns, then keys (rows/store.ts)
//           80   heldTime f64                     their time, epoch ms
//           88   watermark f64 | forgotten u64    as it was told last; keys that were forgotten since nothing came for
//           them
//   entry   48   time f64                         of the row, epoch ms
//           56   a slot for each field (partitions/slot.ts)
import * as ctx from '../../batch/context';
import { accountOf, exhaust } from '../../node/node';
import { setDeadline } from '../../node/timers';
import { LoadFault } from '../../gen/state-layouts';
import { lenOf, offOf } from '../../mem/layout';
import { Pool, poolFree, poolInit } from '../../mem/pool';
import { KEPT_SIZE, slotFree, slotLoad, slotOwn, slotPass, slotSave } from '../../partitions/slot';
import {
  TABLE_SIZE,
  entryDrop,
  entryKey,
  entryKeyLen,
  findEntry,
  findNullEntry,
  isNullEntry,
  takeDirty,
} from '../../partitions/table';
import { rowsLoad, rowsSave } from '../../rows/save';
import { ABSENT, Members, placeOf, savedCount } from '../../state/members';
import { readBool, readBytes, readF64, readFail, readFails, readTime, readU32, readVersion } from '../../state/reader';
import { writeBool, writeBytes, writeF64, writeTime, writeU32, writeVersion } from '../../state/writer';
import { AsofSpec } from '../../gen/join-layouts';
import { Node } from '../../gen/node-layouts';
import { Rows } from '../../rows/layout';
import { PartitionTable, PartitionEntry } from '../../partitions/table-slots';

export const ASOF_HELD: usize = TABLE_SIZE;
/** State of an as-of join. */
// @ts-ignore: decorator
@unmanaged
export class AsofState extends PartitionTable {
  private gap48: u64;
  private gap56: u64;
  private gap64: u64;
  private gap72: u64;
  private gap80: u64;
  private gap88: u64;
  heldTime: f64;
  watermark: f64;
  forgotten: u64;

  get held(): Rows {
    return changetype<Rows>(changetype<usize>(this) + ASOF_HELD);
  }
}

export const ASOF_STATE_SIZE: u32 = <u32>offsetof<AsofState>('forgotten') + 8;

/** Newest row of a key. */
// @ts-ignore: decorator
@unmanaged
export class AsofEntry extends PartitionEntry {
  time: f64;
}

const ENTRY_SLOTS: usize = offsetof<AsofEntry>('time') + 8;

/** Bytes of an entry. */
// @ts-ignore: decorator
@inline export function entrySize(spec: AsofSpec): u32 {
  return <u32>ENTRY_SLOTS + spec.fields * KEPT_SIZE;
}

/** The slot of the first field. */
// @ts-ignore: decorator
@inline export function slotsOf(entry: PartitionEntry): usize {
  return changetype<usize>(entry) + ENTRY_SLOTS;
}

/** Copies kept values that still refer to the batch, before the batch goes. */
export function settle(node: Node, spec: AsofSpec, state: AsofState): void {
  const fields = spec.fields;
  const acct = accountOf(node);
  let isKept = true;
  for (let entry = takeDirty(state); entry; entry = takeDirty(state)) {
    let slot = slotsOf(entry);
    for (let f: u32 = 0; f < fields; f++, slot += KEPT_SIZE) if (!slotOwn(slot, acct)) isKept = false;
  }
  if (!isKept) exhaust(node);
}

/** Frees the slots of the entry. */
export function freeSlots(spec: AsofSpec, entry: PartitionEntry, acct: usize): void {
  const fields = spec.fields;
  let slot = slotsOf(entry);
  for (let f: u32 = 0; f < fields; f++, slot += KEPT_SIZE) slotFree(slot, acct);
}

/** Forgets rows that are too old for all rows to come, and rows whose keys have been silent for the TTL. */
export function forgetOld(node: Node, spec: AsofSpec, state: AsofState): void {
  const tolerance = spec.tolerance;
  const ttl = spec.ttl;
  if (!(tolerance < Infinity) && !(ttl > 0)) return;
  const oldest = state.watermark - tolerance;
  const acct = accountOf(node);
  for (let entry = changetype<AsofEntry>(state.first); entry; entry = changetype<AsofEntry>(state.first)) {
    const isIdle = ttl > 0 && entry.seen + ttl <= ctx.nowMs;
    if (!isIdle && !(entry.time < oldest)) return;
    freeSlots(spec, entry, acct);
    entryDrop(state, entry, entrySize(spec), acct);
    if (isIdle) state.forgotten++;
  }
}

/** Sets a deadline for the key whose last row is oldest, if the node has none; an earlier one may come too early. */
export function awaitIdle(node: Node, spec: AsofSpec, state: PartitionTable): void {
  const ttl = spec.ttl;
  const first = state.first;
  if (!(ttl > 0) || !first || node.heap) return;
  if (!setDeadline(node, first.seen + ttl)) exhaust(node);
}

/** Moves the times of the keys' last rows `ms` back, as they are times of the clock. */
export function asofSetBack(node: Node, ms: f64): void {
  const state = changetype<PartitionTable>(node.state);
  for (let entry = state.first; entry; entry = entry.next) {
    entry.seen -= ms;
  }
}

/** Keys whose newest row is kept. */
export function asofKept(node: Node): u64 {
  return changetype<PartitionTable>(node.state).count;
}

/** Keys that were forgotten since nothing came for them. */
export function asofForgotten(node: Node): u64 {
  return changetype<AsofState>(node.state).forgotten;
}

const VERSION: u32 = 1;

/** Saves the newest rows, oldest first, and those that wait. */
export function asofSave(node: Node): void {
  const spec = changetype<AsofSpec>(node.spec);
  const state = changetype<AsofState>(node.state);
  const fields = spec.fields;
  writeVersion(VERSION);
  writeF64(state.heldTime);
  writeF64(state.watermark);
  rowsSave(state.held);
  writeU32(state.count);
  for (let entry = changetype<AsofEntry>(state.first); entry; entry = changetype<AsofEntry>(entry.next)) {
    const isNull = isNullEntry(state, entry);
    writeBool(isNull);
    if (!isNull) writeBytes(entryKey(entry), entryKeyLen(entry));
    writeTime(entry.seen);
    writeTime(entry.time);
    let slot = slotsOf(entry);
    for (let f: u32 = 0; f < fields; f++, slot += KEPT_SIZE) slotSave(changetype<Pool>(slot));
  }
}

const KEY_POOL: Pool = changetype<Pool>(memory.data(32, 16));

export function asofLoad(node: Node): bool {
  if (!readVersion(VERSION)) return false;
  const spec = changetype<AsofSpec>(node.spec);
  const state = changetype<AsofState>(node.state);
  const acct = accountOf(node);
  state.heldTime = readF64();
  state.watermark = readF64();
  rowsLoad(state.held, Members.ROWS);
  const n = readU32();
  for (let i: u32 = 0; i < n && !readFails(); i++) loadEntry(spec, state, acct);
  return !readFails();
}

function loadEntry(spec: AsofSpec, state: PartitionTable, acct: usize): void {
  const before = state.count;
  let entry: AsofEntry = changetype<AsofEntry>(0);
  if (readBool()) entry = changetype<AsofEntry>(findNullEntry(state, entrySize(spec), acct));
  else {
    poolInit(KEY_POOL, 256, 0);
    const key = readBytes(KEY_POOL);
    if (!readFails()) entry = changetype<AsofEntry>(findEntry(state, entrySize(spec), offOf(key), lenOf(key), acct));
    poolFree(KEY_POOL);
  }
  const seen = readTime();
  const time = readTime();
  if (readFails()) return;
  if (!entry || state.count == before) {
    readFail(entry ? LoadFault.DAMAGED : LoadFault.MEMORY);
    return;
  }
  entry.seen = seen;
  entry.time = time;
  const fields = spec.fields;
  const saved = savedCount(Members.KEPT, fields);
  for (let i: u32 = 0; i < saved && !readFails(); i++) {
    const f = placeOf(Members.KEPT, i);
    if (f == ABSENT) slotPass();
    else if (f < fields) slotLoad(changetype<Pool>(slotsOf(entry) + f * KEPT_SIZE), acct);
    else readFail(LoadFault.DAMAGED);
  }
}
