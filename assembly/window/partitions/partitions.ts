// Windows of partitions: rows of equal values share a window state, found by the printed key of these values. A
// partition exists as long as it holds something that later rows need, so there are never more partitions than active
// keys.
//
//   partitions   0   table 32 (partitions/table.ts) | due 16 (window/partitions/due.ts)
//                48  order u64 (of the next partition) | forgotten u64
//                64  left f64              time up to which due windows are deferred, -Infinity none are
//   partition    an entry of the table: its head 48 | window state (window/content/state.ts)
import { accountOf } from '../../node/node';
import { allocZeroed, free } from '../../mem/alloc';
import { Tag, lenOf, offOf } from '../../mem/layout';
import { Pool, poolFree, poolInit, poolReset } from '../../mem/pool';
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
import { readBytes, readFail, readFails, readLength } from '../../state/reader';
import { writeBytes, writeU32 } from '../../state/writer';
import { bindOf, bindTag, bindVal, furtherInput } from '../../agg/group/spec';
import { setFree, setInit } from '../../agg/group/group';
import { keyAdd, keyBegin, keyLen, keyOff } from '../../agg/group/key';
import { rowsFree } from '../../rows/store';
import { Due, dueFree, dueLeave } from './due';
import { keptInit } from '../content/kept';
import { queueFree } from '../content/queue';
import { stacksFree } from '../stacks/stacks';
import { WindowState, P_ORDER, W_PARTITIONS, W_SIZE } from '../content/state';
import { Node } from '../../gen/node-layouts';
import { WindowSpec } from '../../gen/window-layouts';
import { PartitionTable, PartitionEntry } from '../../partitions/table-slots';

const DUE: usize = TABLE_SIZE;
/** The table of the partitions of a window. */
// @ts-ignore: decorator
@unmanaged
export class Partitions extends PartitionTable {
  private gap48: u64;
  private gap56: u64;
  order: u64;
  forgotten: u64;
  left: f64;
}

const PARTITIONS_SIZE: u32 = <u32>offsetof<Partitions>('left') + 8;
const PARTITION_SIZE: u32 = ENTRY_HEAD + W_SIZE;
/** Pool for saved keys until they are in the table. */
const KEYS: Pool = changetype<Pool>(memory.data(32, 16));

/** Makes an empty table; false when memory is exhausted. */
export function partitionsOpen(node: Node, state: WindowState): bool {
  const partitions = changetype<Partitions>(allocZeroed(PARTITIONS_SIZE, accountOf(node)));
  if (!partitions) return false;
  tableInit(partitions, false);
  setLeftUntil(partitions, -Infinity);
  store<u32>(changetype<usize>(state), changetype<u32>(partitions), W_PARTITIONS);
  return true;
}

/** Frees the table with all partitions. */
export function partitionsFree(node: Node, state: WindowState): void {
  const partitions = changetype<PartitionTable>(load<u32>(changetype<usize>(state), W_PARTITIONS));
  if (!partitions) return;
  for (let part = partitionFirst(partitions); part; part = partitionNext(part)) freeContent(node, part);
  tableFree(partitions, PARTITION_SIZE, accountOf(node));
  dueFree(changetype<Due>(changetype<usize>(partitions) + DUE), accountOf(node));
  free(changetype<usize>(partitions), PARTITIONS_SIZE, accountOf(node));
}

/** The heap of partitions by the time at which they are due. */
// @ts-ignore: decorator
@inline export function partitionsDue(partitions: usize): Due {
  return changetype<Due>(partitions + DUE);
}

/** Event time, epoch ms, up to which due windows are deferred; -Infinity when none are. */
// @ts-ignore: decorator
@inline export function leftUntil(partitions: Partitions): f64 {
  return partitions.left;
}

export function setLeftUntil(partitions: Partitions, ms: f64): void {
  partitions.left = ms;
}

/** The window state of the first partition, in the order in which they were made; 0 none. */
export function partitionFirst(partitions: PartitionTable): WindowState {
  const entry = partitions.first;
  return entry ? changetype<WindowState>(changetype<usize>(entry) + ENTRY_HEAD) : changetype<WindowState>(0);
}

/** The window state of the partition behind `part` in that order; 0 none. */
export function partitionNext(part: WindowState): WindowState {
  const entry = load<u32>(changetype<usize>(part) - ENTRY_HEAD, offsetof<PartitionEntry>('next'));
  return entry ? changetype<WindowState>(changetype<usize>(entry) + ENTRY_HEAD) : changetype<WindowState>(0);
}

/** Payload of the error in a value that the row is partitioned by; 0 when no value failed. */
export function partitionFault(spec: WindowSpec, row: u32): u64 {
  const first = bindOf(spec.partition);
  if (bindTag(first, row) == Tag.ERROR) return bindVal(first, row);
  const further = spec.further;
  for (let i: u32 = 0; i < further; i++) {
    const bind = bindOf(furtherInput(spec, i));
    if (bindTag(bind, row) == Tag.ERROR) return bindVal(bind, row);
  }
  return 0;
}

/** The partition of a row; 0 when there is none. All rows in which a value failed share one partition. */
export function partitionFind(spec: WindowSpec, partitions: PartitionTable, row: u32): WindowState {
  keyBegin();
  if (!partitionFault(spec, row)) {
    addKey(spec.partition, row);
    const further = spec.further;
    for (let i: u32 = 0; i < further; i++) addKey(furtherInput(spec, i), row);
  }
  const entry = lookEntry(partitions, keyOff, keyLen);
  return entry ? changetype<WindowState>(changetype<usize>(entry) + ENTRY_HEAD) : changetype<WindowState>(0);
}

// @ts-ignore: decorator
@inline function addKey(input: u32, row: u32): void {
  keyAdd(bindTag(bindOf(input), row), bindVal(bindOf(input), row));
}

/** Makes the partition that the last `partitionFind` did not find; 0 when memory is exhausted. */
export function partitionNew(node: Node, spec: WindowSpec, partitions: Partitions): WindowState {
  return make(node, spec, partitions, keyOff, keyLen);
}

function make(node: Node, spec: WindowSpec, partitions: Partitions, off: usize, len: u32): WindowState {
  const acct = accountOf(node);
  const entry = findEntry(partitions, PARTITION_SIZE, off, len, acct);
  if (!entry) return changetype<WindowState>(0);
  const part = changetype<WindowState>(entry + ENTRY_HEAD);
  setInit(part, acct);
  keptInit(spec, part, acct);
  const order = partitions.order;
  store<u64>(changetype<usize>(part), order, P_ORDER);
  partitions.order = order + 1;
  return part;
}

/** Frees a partition. */
export function partitionDrop(node: Node, partitions: Partitions, part: WindowState): void {
  dueLeave(changetype<Due>(changetype<usize>(partitions) + DUE), part, accountOf(node));
  freeContent(node, part);
  entryDrop(
    partitions,
    changetype<PartitionEntry>(changetype<usize>(part) - ENTRY_HEAD),
    PARTITION_SIZE,
    accountOf(node),
  );
}

/** Drops a partition that got no row for too long, and counts it as forgotten. */
export function partitionForget(node: Node, partitions: Partitions, part: WindowState): void {
  partitionDrop(node, partitions, part);
  partitions.forgotten++;
}

function freeContent(node: Node, part: WindowState): void {
  setFree(part);
  rowsFree(part.kept);
  stacksFree(node, part);
  queueFree(part, accountOf(node));
}

/** Number of partitions in the table. */
export function partitionCount(partitions: PartitionTable): u32 {
  return partitions.count;
}

/** Number of partitions that were forgotten. */
export function partitionsForgotten(partitions: Partitions): u64 {
  return partitions.forgotten;
}

/** Saves the partitions with their keys, in the order in which they were made; `save` writes each window. */
export function partitionsSave(
  partitions: PartitionTable,
  spec: WindowSpec,
  save: (spec: WindowSpec, part: WindowState) => void,
): void {
  writeU32(partitionCount(partitions));
  for (let part = partitionFirst(partitions); part; part = partitionNext(part)) {
    writeBytes(
      entryKey(changetype<PartitionEntry>(changetype<usize>(part) - ENTRY_HEAD)),
      entryKeyLen(changetype<PartitionEntry>(changetype<usize>(part) - ENTRY_HEAD)),
    );
    save(spec, part);
  }
}

/** Adds saved partitions to an empty table. */
export function partitionsLoad(
  node: Node,
  partitions: Partitions,
  spec: WindowSpec,
  load: (node: Node, spec: WindowSpec, part: WindowState) => void,
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
