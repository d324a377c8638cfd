// Partitions of an asked function that looks back: the state of each, found by the keys of an entry.
//
//   partition   slot of the bytes | with WHEN a slot of the last result, for the rows that WHEN leaves out
import * as ctx from '../../batch/context';
import { Bind, BIND_SIZE, bindTo } from '../../mem/bind';
import { Tag, lenOf, offOf } from '../../mem/layout';
import { Pool, poolFree, poolInit } from '../../mem/pool';
import { accountOf } from '../../node/node';
import { LookupFlag, LookupSpec } from '../../gen/lookup-layouts';
import { Node } from '../../gen/node-layouts';
import { LoadFault } from '../../gen/state-layouts';
import { KEPT_SIZE, keptTag, slotFree, slotLoad, slotSave } from '../../partitions/slot';
import { PartitionEntry } from '../../partitions/table-slots';
import {
  ENTRY_HEAD,
  entryDrop,
  entryKey,
  entryKeyLen,
  findEntries,
  findEntry,
  findNullEntry,
  isNullEntry,
  tableFree,
  tableInit,
} from '../../partitions/table';
import { readBool, readBytes, readFail, readFails, readLength, readTime } from '../../state/reader';
import { writeBool, writeBytes, writeTime, writeU32 } from '../../state/writer';
import { Answer, entryTag, entryTagAt, entryValAt } from './answers';
import { hasFlag, roundOf, specOf, statesOf } from './asking';

export function hasStates(node: Node): bool {
  return hasFlag(specOf(node), LookupFlag.HAS_STATES);
}

// @ts-ignore: decorator
@inline export function hasWhen(spec: LookupSpec): bool {
  return spec.keys > spec.partitions + spec.args;
}

function entrySize(spec: LookupSpec): u32 {
  return ENTRY_HEAD + (hasWhen(spec) ? 2 : 1) * KEPT_SIZE;
}

// @ts-ignore: decorator
@inline export function stateOf(partition: PartitionEntry): Pool {
  return changetype<Pool>(changetype<usize>(partition) + ENTRY_HEAD);
}

// @ts-ignore: decorator
@inline export function lastOf(partition: PartitionEntry): Pool {
  return changetype<Pool>(changetype<usize>(partition) + ENTRY_HEAD + KEPT_SIZE);
}

export function statesInit(node: Node): void {
  tableInit(statesOf(node), specOf(node).stateTtl > 0);
}

export function statesFree(node: Node): void {
  const spec = specOf(node);
  const acct = accountOf(node);
  const table = statesOf(node);
  for (let entry = table.first; entry; entry = entry.next) slotsFree(spec, entry, acct);
  tableFree(table, entrySize(spec), acct);
}

function slotsFree(spec: LookupSpec, partition: PartitionEntry, acct: usize): void {
  slotFree(changetype<usize>(stateOf(partition)), acct);
  if (hasWhen(spec)) slotFree(changetype<usize>(lastOf(partition)), acct);
}

const BINDS: usize = memory.data(64 * 16, 16);
/** Selection of the one row that keys of an entry are, and the partition that is found for it. */
const ONE: usize = memory.data(4, 4);
const FOUND: usize = memory.data(4, 4);

/** The partition of an entry's row, which is seen now; made when there is none, 0 when memory is exhausted. */
export function partitionOf(node: Node, entry: Answer): PartitionEntry {
  const spec = specOf(node);
  const keys = spec.keys;
  const partitions = spec.partitions;
  for (let k: u32 = 0; k < partitions; k++) {
    const bind = changetype<Bind>(BINDS + k * BIND_SIZE);
    bindTo(bind, entryValAt(entry, k), entryTagAt(entry, keys, k), 0, entryTag(entry, keys, k));
  }
  store<u32>(FOUND, 0);
  const acct = accountOf(node);
  const isFound = findEntries(
    statesOf(node),
    entrySize(spec),
    BINDS,
    BIND_SIZE,
    partitions,
    ONE,
    1,
    FOUND,
    acct,
    ctx.nowMs,
  );
  return changetype<PartitionEntry>(isFound ? load<u32>(FOUND) : 0);
}

// ---- partitions that nothing comes for ----------------------------------------------------------------------------

/** Forgets partitions whose last row is older than the node keeps them. */
export function forgetIdle(node: Node): void {
  const spec = specOf(node);
  const ttl = spec.stateTtl;
  if (!(ttl > 0)) return;
  const table = statesOf(node);
  for (let entry = table.first; entry && entry.seen + ttl <= ctx.nowMs; entry = table.first) {
    slotsFree(spec, entry, accountOf(node));
    entryDrop(table, entry, entrySize(spec), accountOf(node));
    roundOf(node).forgotten++;
  }
}

export function statesSetBack(node: Node, ms: f64): void {
  if (!(specOf(node).stateTtl > 0)) return;
  for (let entry = statesOf(node).first; entry; entry = entry.next) entry.seen -= ms;
}

/** Number of partitions that a node keeps. */
export function askPartitions(node: Node): u32 {
  return hasStates(node) ? statesOf(node).count : 0;
}

/** Number of partitions that a node has forgotten because no rows came for them. */
export function askForgotten(node: Node): u64 {
  return hasStates(node) ? roundOf(node).forgotten : 0;
}

// ---- saved state --------------------------------------------------------------------------------------------------

/** Saves the partitions: count u32 | of each: isNull u8 | key | seen time | slots. */
export function statesSave(node: Node): void {
  const spec = specOf(node);
  const table = statesOf(node);
  writeU32(table.count);
  for (let entry = table.first; entry; entry = entry.next) {
    const isNull = isNullEntry(table, entry);
    writeBool(isNull);
    if (!isNull) writeBytes(entryKey(entry), entryKeyLen(entry));
    writeTime(entry.seen);
    slotSave(stateOf(entry));
    if (hasWhen(spec)) slotSave(lastOf(entry));
  }
}

const KEY_POOL: Pool = changetype<Pool>(memory.data(32, 16));

export function statesLoad(node: Node): void {
  const spec = specOf(node);
  const acct = accountOf(node);
  const table = statesOf(node);
  const size = entrySize(spec);
  const n = readLength();
  for (let i: u32 = 0; i < n && !readFails(); i++) {
    const isNull = readBool();
    poolInit(KEY_POOL, 256, 0);
    const key: u64 = isNull ? 0 : readBytes(KEY_POOL);
    const seen = readTime();
    const entry = changetype<PartitionEntry>(
      readFails()
        ? 0
        : isNull
          ? findNullEntry(table, size, acct)
          : findEntry(table, size, offOf(key), lenOf(key), acct),
    );
    poolFree(KEY_POOL);
    if (!entry) {
      readFail(LoadFault.MEMORY);
      return;
    }
    // A key that comes twice must not leave memory behind.
    slotsFree(spec, entry, acct);
    memory.fill(changetype<usize>(entry) + ENTRY_HEAD, 0, size - ENTRY_HEAD);
    entry.seen = seen;
    slotLoad(stateOf(entry), acct);
    if (hasWhen(spec) && !readFails()) slotLoad(lastOf(entry), acct);
    const tag = keptTag(stateOf(entry));
    if (tag != Tag.BYTES && tag != Tag.MISSING) readFail(LoadFault.DAMAGED);
  }
}
