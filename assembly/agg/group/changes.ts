// What a set of groups has had since a snapshot of its chain wrote it (agg/save/walk.ts), so that the next one writes
// only that. Each batch notes the groups that it changes, once for each; new groups stand behind the others anyway.
// When half of the groups have changed nothing is noted any more, and the next snapshot writes the set as a whole.
//
//   changes  0    walk u32 (that still has groups of the set to write, 0 none)
//            4    chain u32 (of snapshots that has the set, 0 none) | number u32 (of the set in the chain)
//            12   times u32 (changes were written since the set was) | rewritten u32 (groups in them)
//            20   count u32 (groups that are written) | last u32 (of these, 0 none)
//            28   isWhole u32 (nothing is noted, the next snapshot writes the whole set)
//            32   noted u32 (-> a bit for each of `count` groups) | notedBytes u32
//            40   list u32 (-> groups u32[capacity]) | listed u32 | capacity u32
//            52   runs u32[times + 1], then its segments u32[times + 1]     at MOST_TIMES each
import { allocSpare, allocZeroed, free } from '../../mem/alloc';
import { Pool, POOL_SIZE, poolTake } from '../../mem/pool';
import { WindowSpec } from '../../gen/window-layouts';
import { NUMBER_SIZE } from './spec';
import { GroupSet, Group } from './table';

/** State of writing the groups of one set for a snapshot. */
// @ts-ignore: decorator
@unmanaged
export class Walk {
  /** Of the same snapshot. */
  next: Walk;
  /** Of the set; 0 when it was emptied or is in a walk of a later snapshot. */
  changes: Changes;
  number: u32;
  /** Which changes since the set was written these are, from 1; 0: the whole set. */
  times: u32;
  /** To be written next, of those that are written in their order. */
  group: Group;
  /** Number of that group. */
  done: u32;
  /** Number of the first group that is written in its order. */
  from: u32;
  /** Groups of the set. */
  count: u32;
  /** Bytes of memory of a group. */
  each: u32;
  /** Copy of what groups are saved by. */
  spec: WindowSpec;
  specSize: u32;
  /** Address of the addresses of pages of images. */
  held: usize;
  /** Number of the group without key. */
  nullAt: u32;
  isLacking: u32;
  /** Groups that are left of the run that was left in its middle, 0 none. */
  left: u32;
  /** The image that is to go on there, 0: it is at its next group. */
  piece: usize;
  item: u32;
  /** Bits of the changed groups that are still to be written, below `from`. */
  noted: usize;
  notedBytes: u32;
  list: usize;
  listed: u32;
  capacity: u32;
  /** Changed groups that are written. */
  place: u32;

  get images(): Pool {
    return changetype<Pool>(changetype<usize>(this) + WALK_IMAGES);
  }

  /** Of a set that was emptied meanwhile, and its values. */
  get groups(): Pool {
    return changetype<Pool>(changetype<usize>(this) + WALK_GROUPS);
  }

  get values(): Pool {
    return changetype<Pool>(changetype<usize>(this) + WALK_VALUES);
  }
}

/** The pools stand behind the fields. */
const WALK_IMAGES: usize = 96;
const WALK_GROUPS: usize = WALK_IMAGES + POOL_SIZE;
const WALK_VALUES: usize = WALK_GROUPS + POOL_SIZE;
export const WALK_SIZE: u32 = 192;

/** Changes of a set that are written one after the other; then the set is written as a whole again. */
const MOST_TIMES: u32 = 64;

/** What has changed in a set since a snapshot. */
// @ts-ignore: decorator
@unmanaged
export class Changes {
  walk: Walk;
  chain: u32;
  number: u32;
  times: u32;
  rewritten: u32;
  count: u32;
  last: Group;
  isWhole: u32;
  noted: usize;
  notedBytes: u32;
  list: usize;
  listed: u32;
  capacity: u32;
}

/** Account of what is held of sets for snapshots, so that the owners of the sets are not charged. */
export const HELD: usize = memory.data(8, 8);

const RUNS: usize = 52;
const SEGMENTS: usize = RUNS + ((MOST_TIMES + 1) << 2);
const CHANGES_SIZE: u32 = <u32>SEGMENTS + ((MOST_TIMES + 1) << 2);
const FIRST_CAPACITY: u32 = 256;

/** True when a snapshot has the set, or may still have to write it. */
// @ts-ignore: decorator
@inline export function isPinned(set: GroupSet): bool {
  return set.changes != 0;
}

// @ts-ignore: decorator
@inline export function changesOf(set: GroupSet): Changes {
  return changetype<Changes>(set.changes);
}

/** The changes of the set, made when there are none; 0 when memory is exhausted. */
export function changesFor(set: GroupSet): Changes {
  if (!set.changes) set.changes = <u32>allocZeroed(CHANGES_SIZE, HELD);
  return changesOf(set);
}

/** True when the next snapshot of the chain can write what has changed alone. */
export function isTracked(changes: Changes, chain: u32): bool {
  return changes.chain == chain && !changes.isWhole && changes.times < MOST_TIMES;
}

/** Notes that a snapshot has the first `runs` runs of the set, or of what has changed, in its segment. */
export function changesWritten(changes: Changes, runs: u32, segment: u32): void {
  const at = changetype<usize>(changes) + RUNS + ((<usize>changes.times) << 2);
  store<u32>(at, runs);
  store<u32>(at, segment, SEGMENTS - RUNS);
}

/** Adds the runs of the set to those that each segment has, at `live`. */
export function changesLive(changes: Changes, live: usize): void {
  const runs = changetype<usize>(changes) + RUNS;
  for (let i: u32 = 0; i <= changes.times; i++) {
    const at = live + ((<usize>load<u32>(runs + ((<usize>i) << 2), SEGMENTS - RUNS)) << 2);
    store<u32>(at, load<u32>(at) + load<u32>(runs + ((<usize>i) << 2)));
  }
}

/** Begins to note what changes in the set from now on; without memory nothing is noted. */
export function changesBegin(changes: Changes, set: GroupSet): void {
  listDrop(changes);
  changes.count = set.count;
  changes.last = set.last;
  const size = (set.count + 7) >> 3;
  if (changes.notedBytes < size) {
    free(changes.noted, changes.notedBytes, HELD);
    changes.noted = allocSpare(size, HELD);
    changes.notedBytes = changes.noted ? size : 0;
  }
  changes.isWhole = <u32>(changes.noted == 0);
  if (changes.noted) memory.fill(changes.noted, 0, size);
}

/** Hands what was noted to the walk that writes it. */
export function changesHandOver(changes: Changes, walk: Walk): void {
  walk.noted = changes.noted;
  walk.notedBytes = changes.notedBytes;
  walk.list = changes.list;
  walk.listed = changes.listed;
  walk.capacity = changes.capacity;
  changes.noted = 0;
  changes.notedBytes = 0;
  changes.list = 0;
  changes.listed = 0;
  changes.capacity = 0;
}

function listDrop(changes: Changes): void {
  free(changes.list, changes.capacity << 2, HELD);
  changes.list = 0;
  changes.listed = 0;
  changes.capacity = 0;
}

/** Notes the groups that rows are about to change. */
export function changesNote(spec: WindowSpec, changes: Changes, groups: usize, n: u32): void {
  if (changes.isWhole) return;
  const noted = changes.noted;
  const count = changes.count;
  const numberAt = <usize>spec.tagsAt - NUMBER_SIZE;
  for (let i: usize = 0; i < (<usize>n) << 2; i += 4) {
    const group = <usize>load<u32>(groups + i);
    const number = load<u32>(group + numberAt);
    if (number >= count) continue;
    const at = noted + (number >> 3);
    const bits = load<u8>(at);
    const bit = (<u8>1) << (<u8>(number & 7));
    if (bits & bit) continue;
    if (changes.listed == changes.capacity && !grow(changes)) {
      // The next snapshot writes the whole set. The bits stay for it: memory is short.
      changes.isWhole = 1;
      listDrop(changes);
      return;
    }
    store<u8>(at, bits | bit);
    store<u32>(changes.list + ((<usize>changes.listed) << 2), <u32>group);
    changes.listed++;
  }
}

/** Makes room for more groups; false when memory is exhausted, and when the whole set is to be written anyway. */
function grow(changes: Changes): bool {
  const capacity = changes.capacity;
  const most = min(changes.count >> 1, changes.count - min(changes.rewritten, changes.count));
  if (capacity >= most) return false;
  const wanted = min(max(capacity << 1, FIRST_CAPACITY), most);
  const made = allocSpare(wanted << 2, HELD);
  if (!made) return false;
  memory.copy(made, changes.list, changes.listed << 2);
  free(changes.list, capacity << 2, HELD);
  changes.list = made;
  changes.capacity = wanted;
  return true;
}

/** To be called before groups of the set change in a way that is not noted. */
export function setChangesUnseen(set: GroupSet): void {
  const changes = changesOf(set);
  if (!changes) return;
  changes.isWhole = 1;
  if (changes.walk) changes.walk.isLacking = 1;
}

/** Hands the pools of a set that is emptied to its walk, if one still has groups to write; frees the changes. */
export function pinnedLeave(set: GroupSet, groups: Pool, values: Pool): void {
  const changes = changesOf(set);
  const walk = changes.walk;
  if (walk) {
    walk.changes = changetype<Changes>(0);
    poolTake(walk.groups, groups);
    poolTake(walk.values, values);
  }
  listDrop(changes);
  free(changes.noted, changes.notedBytes, HELD);
  free(changetype<usize>(changes), CHANGES_SIZE, HELD);
  set.changes = 0;
}
