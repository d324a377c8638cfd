// State windows of several partitions: each partition whose window is open has a window state of its own, found by the printed
// key of its values. A partition goes when its window closes, so that there are never more than open windows.
//
//   partitions (16)   heads u32 (chains of partitions) | mask u32 | count u32 | acct u32
//   partition         window state (window/state.ts) | next u32 | hash u32 | key u32 | keyLen u32
import { alloc, allocZeroed, free } from '../mem/alloc';
import { Tag, lenOf, offOf } from '../mem/layout';
import { poolFree, poolInit, poolReset } from '../mem/pool';
import { LoadFault } from '../gen/state-layouts';
import { readBytes, readFail, readFails, readLength } from '../state/reader';
import { writeBytes, writeU32 } from '../state/writer';
import { bytesEqual, bytesHash } from '../value/bytes';
import { setFree, setInit } from '../agg/group';
import { keyAdd, keyBegin, keyLen, keyOff } from '../agg/key';
import { rowsFree } from '../rows/store';
import { keptInit } from './kept';
import { W_ROWS, W_SET, W_SIZE } from './state';

const PARTITIONS_SIZE: u32 = 16;
const HEADS: usize = 0;
const MASK: usize = 4;
const COUNT: usize = 8;
const ACCT: usize = 12;
const FIRST_HEADS: u32 = 16;
/** Saved keys on their way into the table. */
const KEYS: usize = memory.data(32, 16);

const NEXT: usize = W_SIZE;
const HASH: usize = W_SIZE + 4;
const KEY: usize = W_SIZE + 8;
const KEY_LEN: usize = W_SIZE + 12;
const PARTITION_SIZE: u32 = W_SIZE + 16;

/** Makes an empty table; 0 when memory is exhausted. */
export function partitionsNew(acct: usize): usize {
  const table = allocZeroed(PARTITIONS_SIZE, acct);
  if (!table) return 0;
  store<u32>(table, <u32>acct, ACCT);
  if (setHeads(table, FIRST_HEADS)) return table;
  free(table, PARTITIONS_SIZE, acct);
  return 0;
}

/** Frees the table with all partitions; 0 does nothing. */
export function partitionsFree(table: usize): void {
  if (!table) return;
  const acct = <usize>load<u32>(table, ACCT);
  const mask = load<u32>(table, MASK);
  for (let i: u32 = 0; i <= mask; i++) {
    let at = headAt(table, i);
    while (load<u32>(at)) remove(table, at);
  }
  free(<usize>load<u32>(table, HEADS), (mask + 1) << 2, acct);
  free(table, PARTITIONS_SIZE, acct);
}

// @ts-ignore: decorator
@inline function headAt(table: usize, hash: u32): usize {
  return <usize>load<u32>(table, HEADS) + (<usize>(hash & load<u32>(table, MASK)) << 2);
}

/** Hash of the value that `partitionFind` and `partitionNew` were asked for. */
let soughtHash: u32 = 0;

/** The open partition of the value, 0 when there is none. All values that failed are one. */
export function partitionFind(table: usize, tag: u8, payload: u64): usize {
  keyBegin();
  if (tag != Tag.ERROR) keyAdd(tag, payload);
  soughtHash = bytesHash(keyOff, keyLen);
  let partition = <usize>load<u32>(headAt(table, soughtHash));
  while (partition) {
    const isSame =
      load<u32>(partition, HASH) == soughtHash &&
      load<u32>(partition, KEY_LEN) == keyLen &&
      bytesEqual(<usize>load<u32>(partition, KEY), keyOff, keyLen);
    if (isSame) break;
    partition = <usize>load<u32>(partition, NEXT);
  }
  return partition;
}

/** Makes the partition that the last `partitionFind` did not find; 0 when memory is exhausted. */
// @ts-ignore: decorator
@inline export function partitionNew(spec: usize, table: usize): usize {
  return partitionMake(spec, table, keyOff, keyLen, soughtHash);
}

/** Makes the partition of a key that has none yet; 0 when memory is exhausted. */
function partitionMake(spec: usize, table: usize, off: usize, len: u32, hash: u32): usize {
  const acct = <usize>load<u32>(table, ACCT);
  const count = load<u32>(table, COUNT);
  // Without memory for more chains they get longer.
  if (count > load<u32>(table, MASK)) setHeads(table, (load<u32>(table, MASK) + 1) << 1);
  const key = alloc(max(len, 1), acct);
  const partition = key ? allocZeroed(PARTITION_SIZE, acct) : 0;
  if (!partition) {
    free(key, max(len, 1), acct);
    return 0;
  }
  memory.copy(key, off, len);
  setInit(partition + W_SET, acct);
  keptInit(spec, partition, acct);
  const head = headAt(table, hash);
  store<u32>(partition, load<u32>(head), NEXT);
  store<u32>(partition, hash, HASH);
  store<u32>(partition, <u32>key, KEY);
  store<u32>(partition, len, KEY_LEN);
  store<u32>(head, <u32>partition);
  store<u32>(table, count + 1, COUNT);
  return partition;
}

/** Frees a partition of the table. */
export function partitionDrop(table: usize, partition: usize): void {
  let at = headAt(table, load<u32>(partition, HASH));
  while (<usize>load<u32>(at) != partition) at = <usize>load<u32>(at) + NEXT;
  remove(table, at);
}

/** Takes the partition that `at` points to out of its chain and frees it. */
function remove(table: usize, at: usize): void {
  const acct = <usize>load<u32>(table, ACCT);
  const partition = <usize>load<u32>(at);
  store<u32>(at, load<u32>(partition, NEXT));
  store<u32>(table, load<u32>(table, COUNT) - 1, COUNT);
  setFree(partition + W_SET);
  rowsFree(partition + W_ROWS);
  free(<usize>load<u32>(partition, KEY), max(load<u32>(partition, KEY_LEN), 1), acct);
  free(partition, PARTITION_SIZE, acct);
}

/** Tells each partition that the clock is set back by so many ms. */
export function partitionsSetBack(table: usize, ms: f64, setBack: (state: usize, ms: f64) => void): void {
  const mask = load<u32>(table, MASK);
  for (let i: u32 = 0; i <= mask; i++) {
    for (let at = <usize>load<u32>(headAt(table, i)); at; at = <usize>load<u32>(at, NEXT)) setBack(at, ms);
  }
}

/** Saves the partitions with their keys, each window by `save`. */
export function partitionsSave(table: usize, spec: usize, save: (spec: usize, state: usize) => void): void {
  writeU32(load<u32>(table, COUNT));
  const mask = load<u32>(table, MASK);
  for (let i: u32 = 0; i <= mask; i++) {
    for (let at = <usize>load<u32>(headAt(table, i)); at; at = <usize>load<u32>(at, NEXT)) {
      writeBytes(<usize>load<u32>(at, KEY), load<u32>(at, KEY_LEN));
      save(spec, at);
    }
  }
}

/** Adds saved partitions to an empty table. */
export function partitionsLoad(table: usize, spec: usize, load: (spec: usize, state: usize) => void): void {
  const count = readLength();
  poolInit(KEYS, 128, 0);
  for (let i: u32 = 0; i < count && !readFails(); i++) {
    poolReset(KEYS);
    const key = readBytes(KEYS);
    if (readFails()) break;
    const partition = partitionMake(spec, table, offOf(key), lenOf(key), bytesHash(offOf(key), lenOf(key)));
    if (partition) load(spec, partition);
    else readFail(LoadFault.MEMORY);
  }
  poolFree(KEYS);
}

/** Divides the partitions among so many chains (a power of 2); false when memory is exhausted, nothing changes then. */
function setHeads(table: usize, chains: u32): bool {
  const acct = <usize>load<u32>(table, ACCT);
  const before = <usize>load<u32>(table, HEADS);
  const chainsBefore = before ? load<u32>(table, MASK) + 1 : 0;
  const heads = allocZeroed(chains << 2, acct);
  if (!heads) return false;
  store<u32>(table, <u32>heads, HEADS);
  store<u32>(table, chains - 1, MASK);
  for (let i: u32 = 0; i < chainsBefore; i++) {
    let partition = <usize>load<u32>(before + (<usize>i << 2));
    while (partition) {
      const next = <usize>load<u32>(partition, NEXT);
      const head = headAt(table, load<u32>(partition, HASH));
      store<u32>(partition, load<u32>(head), NEXT);
      store<u32>(head, <u32>partition);
      partition = next;
    }
  }
  free(before, chainsBefore << 2, acct);
  return true;
}
