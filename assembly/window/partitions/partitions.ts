// Windows of partitions: rows of equal values have a window state of their own, found by the printed key of these
// values. A partition is there as long as it holds something that later rows need, so that there are never more than
// keys at work.
//
//   partitions   0   table 32 (partitions/table.ts) | due 16 (window/partitions/due.ts)
//                48  order u64 (of the next partition) | forgotten u64
//                64  left f64              until when what is due is left to later, -Infinity nothing is
//   partition    an entry of the table: its head 48 | window state (window/content/state.ts)
import { accountOf } from '../../node/node';
import { allocZeroed, free } from '../../mem/alloc';
import { Tag, lenOf, offOf } from '../../mem/layout';
import { poolFree, poolInit, poolReset } from '../../mem/pool';
import { LoadFault } from '../../gen/state-layouts';
import {
  ENTRY_HEAD,
  TABLE_SIZE,
  entryDrop,
  entryKey,
  entryKeyLen,
  findEntry,
  lookEntry,
  tableFree,
  tableInit,
} from '../../partitions/table';
import { ENTRY_NEXT, TABLE_COUNT, TABLE_FIRST } from '../../partitions/table-slots';
import { readBytes, readFail, readFails, readLength } from '../../state/reader';
import { writeBytes, writeU32 } from '../../state/writer';
import { WINDOW_FURTHER, WINDOW_PARTITION, bindOf, bindTag, bindVal, furtherInput } from '../../agg/group/spec';
import { setFree, setInit } from '../../agg/group/group';
import { keyAdd, keyBegin, keyLen, keyOff } from '../../agg/group/key';
import { rowsFree } from '../../rows/store';
import { DUE_SIZE, dueFree, dueLeave } from './due';
import { keptInit } from '../content/kept';
import { queueFree } from '../content/queue';
import { stacksFree } from '../stacks/stacks';
import { P_ORDER, W_PARTITIONS, W_ROWS, W_SET, W_SIZE } from '../content/state';

const DUE: usize = TABLE_SIZE;
const ORDER: usize = DUE + DUE_SIZE;
const FORGOTTEN: usize = ORDER + 8;
const LEFT: usize = ORDER + 16;
const PARTITIONS_SIZE: u32 = <u32>LEFT + 8;
const PARTITION_SIZE: u32 = ENTRY_HEAD + W_SIZE;
/** Saved keys on their way into the table. */
const KEYS: usize = memory.data(32, 16);

/** Makes an empty table; false when memory is exhausted. */
export function partitionsOpen(node: usize, state: usize): bool {
  const partitions = allocZeroed(PARTITIONS_SIZE, accountOf(node));
  if (!partitions) return false;
  tableInit(partitions, false);
  setLeftUntil(partitions, -Infinity);
  store<u32>(state, <u32>partitions, W_PARTITIONS);
  return true;
}

/** Frees the table with all partitions. */
export function partitionsFree(node: usize, state: usize): void {
  const partitions = <usize>load<u32>(state, W_PARTITIONS);
  if (!partitions) return;
  for (let part = partitionFirst(partitions); part; part = partitionNext(part)) freeContent(node, part);
  tableFree(partitions, PARTITION_SIZE, accountOf(node));
  dueFree(partitions + DUE, accountOf(node));
  free(partitions, PARTITIONS_SIZE, accountOf(node));
}

/** Partitions that are due some time. */
// @ts-ignore: decorator
@inline export function partitionsDue(partitions: usize): usize {
  return partitions + DUE;
}

/** Until when what is due is left to later; -Infinity where nothing is. */
// @ts-ignore: decorator
@inline export function leftUntil(partitions: usize): f64 {
  return load<f64>(partitions, LEFT);
}

export function setLeftUntil(partitions: usize, ms: f64): void {
  store<f64>(partitions, ms, LEFT);
}

/** The window state of the first partition, in the order in which they were made; 0 none. */
export function partitionFirst(partitions: usize): usize {
  const entry = <usize>load<u32>(partitions, TABLE_FIRST);
  return entry ? entry + ENTRY_HEAD : 0;
}

/** That of the one behind it. */
export function partitionNext(part: usize): usize {
  const entry = <usize>load<u32>(part - ENTRY_HEAD, ENTRY_NEXT);
  return entry ? entry + ENTRY_HEAD : 0;
}

/** Payload of the error that a value of the row is by which it is partitioned; 0 none. */
export function partitionFault(spec: usize, row: u32): u64 {
  const first = bindOf(load<u16>(spec, WINDOW_PARTITION));
  if (bindTag(first, row) == Tag.ERROR) return bindVal(first, row);
  const further = load<u16>(spec, WINDOW_FURTHER);
  for (let i: u32 = 0; i < further; i++) {
    const bind = bindOf(furtherInput(spec, i));
    if (bindTag(bind, row) == Tag.ERROR) return bindVal(bind, row);
  }
  return 0;
}

/** The partition of a row, 0 when there is none; all rows of which a value failed are one. */
export function partitionFind(spec: usize, partitions: usize, row: u32): usize {
  keyBegin();
  if (!partitionFault(spec, row)) {
    addKey(load<u16>(spec, WINDOW_PARTITION), row);
    const further = load<u16>(spec, WINDOW_FURTHER);
    for (let i: u32 = 0; i < further; i++) addKey(furtherInput(spec, i), row);
  }
  const entry = lookEntry(partitions, keyOff, keyLen);
  return entry ? entry + ENTRY_HEAD : 0;
}

// @ts-ignore: decorator
@inline function addKey(input: u32, row: u32): void {
  keyAdd(bindTag(bindOf(input), row), bindVal(bindOf(input), row));
}

/** Makes the partition that the last `partitionFind` did not find; 0 when memory is exhausted. */
export function partitionNew(node: usize, spec: usize, partitions: usize): usize {
  return make(node, spec, partitions, keyOff, keyLen);
}

function make(node: usize, spec: usize, partitions: usize, off: usize, len: u32): usize {
  const acct = accountOf(node);
  const entry = findEntry(partitions, PARTITION_SIZE, off, len, acct);
  if (!entry) return 0;
  const part = entry + ENTRY_HEAD;
  setInit(part + W_SET, acct);
  keptInit(spec, part, acct);
  const order = load<u64>(partitions, ORDER);
  store<u64>(part, order, P_ORDER);
  store<u64>(partitions, order + 1, ORDER);
  return part;
}

/** Frees a partition. */
export function partitionDrop(node: usize, partitions: usize, part: usize): void {
  dueLeave(partitions + DUE, part, accountOf(node));
  freeContent(node, part);
  entryDrop(partitions, part - ENTRY_HEAD, PARTITION_SIZE, accountOf(node));
}

/** As `partitionDrop` of one that waited for a row for too long. */
export function partitionForget(node: usize, partitions: usize, part: usize): void {
  partitionDrop(node, partitions, part);
  store<u64>(partitions, load<u64>(partitions, FORGOTTEN) + 1, FORGOTTEN);
}

function freeContent(node: usize, part: usize): void {
  setFree(part + W_SET);
  rowsFree(part + W_ROWS);
  stacksFree(node, part);
  queueFree(part, accountOf(node));
}

/** Partitions that there are. */
export function partitionCount(partitions: usize): u32 {
  return load<u32>(partitions, TABLE_COUNT);
}

/** Partitions that were forgotten. */
export function partitionsForgotten(partitions: usize): u64 {
  return load<u64>(partitions, FORGOTTEN);
}

/** Saves the partitions with their keys, in the order in which they were made; each window by `save`. */
export function partitionsSave(partitions: usize, spec: usize, save: (spec: usize, part: usize) => void): void {
  writeU32(partitionCount(partitions));
  for (let part = partitionFirst(partitions); part; part = partitionNext(part)) {
    writeBytes(entryKey(part - ENTRY_HEAD), entryKeyLen(part - ENTRY_HEAD));
    save(spec, part);
  }
}

/** Adds saved partitions to an empty table. */
export function partitionsLoad(
  node: usize,
  partitions: usize,
  spec: usize,
  load: (node: usize, spec: usize, part: usize) => void,
): void {
  const count = readLength();
  poolInit(KEYS, 128, 0);
  for (let i: u32 = 0; i < count && !readFails(); i++) {
    poolReset(KEYS);
    const key = readBytes(KEYS);
    if (readFails()) break;
    if (lookEntry(partitions, offOf(key), lenOf(key))) {
      readFail(LoadFault.DAMAGED);
      break;
    }
    const part = make(node, spec, partitions, offOf(key), lenOf(key));
    if (part) load(node, spec, part);
    else readFail(LoadFault.MEMORY);
  }
  poolFree(KEYS);
}
