// merge_agg(x): objects merged, later members win.
import { Agg } from '../../gen/aggregates';
import { MEMBER_KEY_LEN, MEMBER_KEY_OFF, MEMBER_SIZE, SLOT_SIZE, Tag, lenOf, offOf, span } from '../../mem/layout';
import { WORKSPACE, alloc, free } from '../../mem/alloc';
import { poolAlloc } from '../../mem/pool';
import * as ctx from '../../batch/context';
import { noMemory } from '../../ops/result';
import { bytesCompare } from '../../value/bytes';
import { keepItem, keepParameter } from '../state/keep';
import { giveResult } from '../state/result';
import { AggregateSpec } from '../../gen/window-layouts';
import { GroupSet } from '../group/table';

export function mergeAggTake(
  set: GroupSet,
  agg: AggregateSpec,
  state: usize,
  tagAt: usize,
  tag: u8,
  payload: u64,
  row: u32,
): void {
  if (keepParameter(set, agg, state, tagAt, row) && tag == Tag.OBJECT)
    keepItem(set, Agg.MERGE_AGG, state, tagAt, tag, payload);
}

function compareKeys(a: usize, b: usize): i32 {
  return bytesCompare(
    <usize>load<u32>(a, MEMBER_KEY_OFF),
    load<u32>(a, MEMBER_KEY_LEN),
    <usize>load<u32>(b, MEMBER_KEY_OFF),
    load<u32>(b, MEMBER_KEY_LEN),
  );
}

// Objects are merged into a run of members, as long as the run is not much longer than they are; then the run is put
// aside. Runs that were put aside are merged when the newer has grown to half of the older. A member is thus copied no
// more often than the length doubles, and equal names never take room twice for long. The first entry is the oldest
// run.
//
//   run   members u32 | count u32 | room u32 (members)
const RUN_SIZE: usize = 12;
const COUNT: usize = 4;
const ROOM: usize = 8;
const MAX_RUNS: u32 = 40;
const RUNS: usize = memory.data(40 * 12, 16);
/** The run that objects are merged into, and the spare block that it swaps with. */
const YOUNG: usize = memory.data(12, 16);
const SPARE: usize = memory.data(12, 16);
const HELD: usize = memory.data(12, 16);
/** Number of runs that were put aside. */
let height: u32 = 0;
/** Members beyond four times those of an object at which a run is put aside before it. */
const FEW: u32 = 64;
/** Members that a block can have at most. */
const MAX_MEMBERS: u32 = 0x7fffffff / MEMBER_SIZE;

// @ts-ignore: decorator
@inline function runAt(i: u32): usize {
  return RUNS + <usize>i * RUN_SIZE;
}

function freeRun(run: usize): void {
  const room = load<u32>(run, ROOM);
  if (room) free(<usize>load<u32>(run), room * MEMBER_SIZE, WORKSPACE);
  memory.fill(run, 0, RUN_SIZE);
}

/** Makes room for `count` members in an empty run; false when memory is exhausted. */
function runRoom(run: usize, count: u32): bool {
  if (load<u32>(run, ROOM) >= count) return true;
  freeRun(run);
  const room = count << 1;
  const block = room > MAX_MEMBERS ? <usize>0 : alloc(room * MEMBER_SIZE, WORKSPACE);
  if (!block) return false;
  store<u32>(run, <u32>block);
  store<u32>(run, room, ROOM);
  return true;
}

/** Merges members into the spare block, behind those of `run`, and swaps the block with that of the run. */
function mergeInto(run: usize, members: usize, count: u32): bool {
  if (!runRoom(SPARE, load<u32>(run, COUNT) + count)) return false;
  const to = <usize>load<u32>(SPARE);
  store<u32>(SPARE, mergeMembers(<usize>load<u32>(run), load<u32>(run, COUNT), members, count, to), COUNT);
  memory.copy(HELD, run, RUN_SIZE);
  memory.copy(run, SPARE, RUN_SIZE);
  memory.copy(SPARE, HELD, RUN_SIZE);
  return true;
}

/** Puts the young run aside and merges runs, all of them at the end. */
function putAside(isEnd: bool): bool {
  memory.copy(runAt(height++), YOUNG, RUN_SIZE);
  memory.fill(YOUNG, 0, RUN_SIZE);
  while (height > 1) {
    const older = runAt(height - 2);
    const newer = runAt(height - 1);
    if (!isEnd && load<u32>(newer, COUNT) << 1 < load<u32>(older, COUNT)) return true;
    if (!mergeInto(older, <usize>load<u32>(newer), load<u32>(newer, COUNT))) return false;
    freeRun(newer);
    height--;
  }
  return true;
}

function mergeAll(slots: usize, n: u32): bool {
  for (let i: u32 = 0; i < n; i++) {
    const payload = load<u64>(slots + i * SLOT_SIZE);
    const count = lenOf(payload);
    const isLong = load<u32>(YOUNG, COUNT) > (count << 2) + FEW;
    if (isLong && (height == MAX_RUNS - 1 || !putAside(false))) return false;
    if (!mergeInto(YOUNG, offOf(payload), count)) return false;
  }
  return putAside(true);
}

/** One object with the members of all objects of the list; the last of equal names counts. Null when there is none. */
function mergeObjects(list: usize): void {
  const n = load<u32>(list, 4);
  const slots = <usize>load<u32>(list);
  if (n < 2) {
    const only: u64 = n ? load<u64>(slots) : 0;
    if (lenOf(only) == 0) giveResult(Tag.NULL, 0);
    else giveResult(Tag.OBJECT, only);
    return;
  }
  height = 0;
  const isDone = mergeAll(slots, n);
  const count = load<u32>(RUNS, COUNT);
  const to: usize = isDone ? poolAlloc(ctx.scratch, count * MEMBER_SIZE) : 0;
  if (!to) giveResult(Tag.ERROR, noMemory('merge_agg'));
  else if (count == 0) giveResult(Tag.NULL, 0);
  else {
    memory.copy(to, <usize>load<u32>(RUNS), count * MEMBER_SIZE);
    giveResult(Tag.OBJECT, span(to, count));
  }
  for (let i: u32 = 0; i < height; i++) freeRun(runAt(i));
  freeRun(YOUNG);
  freeRun(SPARE);
}

/** Merges two ascending member lists to `to`; returns the number of members. */
function mergeMembers(a: usize, aCount: u32, b: usize, bCount: u32, to: usize): u32 {
  const aEnd = a + aCount * MEMBER_SIZE;
  const bEnd = b + bCount * MEMBER_SIZE;
  let at = to;
  while (a < aEnd || b < bEnd) {
    const order = a == aEnd ? 1 : b == bEnd ? -1 : compareKeys(a, b);
    memory.copy(at, order < 0 ? a : b, MEMBER_SIZE);
    at += MEMBER_SIZE;
    if (order <= 0) a += MEMBER_SIZE;
    if (order >= 0) b += MEMBER_SIZE;
  }
  return <u32>(at - to) / MEMBER_SIZE;
}

export function mergeAggFinish(agg: AggregateSpec, state: usize, tag: u8): void {
  mergeObjects(state);
}
