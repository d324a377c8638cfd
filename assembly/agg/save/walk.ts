// Groups as they were at one moment, written while rows change them. When a snapshot is taken, a walk notes the first
// group of a set and the number of groups, and copies nothing. It writes the groups in their order, run by run. When a
// row comes to a group before the walk, the group is saved first as an image, which is written in its place.
//   run    first u32 (number of its first group) | n u32 | head, where first is 0 | groups
//   head   count u32 | number u32 of the group without key, count where there is none | keeps u32 | aggregates u32 |
//   function u32 of each
//   group  key, unless it is the one without | group (agg/save/group.ts)
//
// Where an earlier snapshot of the chain has the set, the walk writes what has changed (agg/group/changes.ts): the
// groups that rows came to, in any order, then those that are new.
//   run    times u32 (which changes of the set these are, from 1) | isFirst u8 | n u32 | head, in the first | groups
//   head   count u32 | number u32 of the group without key, count where there is none | groups in all runs u32
//   group  number u32 | key, where the group is new and not the one without | group
//
// A large group is written from its image, in which long lists are not copied, because they only grow. A run may be
// left in the middle of it.
//
// A run is a part (state/form.ts). Its identity has a bit of its own, one more for changes, and the number of the set
// in the chain of snapshots.
import { alloc, allocZeroed, forgiveRefusals, free, refusals, WORKSPACE } from '../../mem/alloc';
import { poolBytes, poolFree, poolInit } from '../../mem/pool';
import { newPartNumber } from '../../state/part-numbers';
import { NO_LIST, Tag, lenOf } from '../../mem/layout';
import {
  LONG_LIST,
  heldItem,
  holdBegin,
  holdEnd,
  holdNext,
  partBegin,
  partEnd,
  partLeave,
  partResume,
  writeBool,
  writeBytes,
  writeHeldSome,
  writeU32,
} from '../../state/writer';
import { keepsValues } from '../../gen/aggregates';
import { groupNumber } from '../group/group';
import { groupSave } from './group';
import {
  Changes,
  HELD,
  Walk,
  WALK_SIZE,
  changesBegin,
  changesFor,
  changesHandOver,
  changesLive,
  changesNote,
  changesOf,
  changesWritten,
  isTracked,
} from '../group/changes';
import { AGG_SIZE_OF, GROUP_HEAD, aggsAt } from '../group/spec';
import { WindowSpec, AggregateSpec } from '../../gen/window-layouts';
import { GroupSet, Group } from '../group/table';

/** Flag in the identity of a part: the part is a run of groups. */
export const GROUPS_PART: u64 = 1 << 32;
/** Flag in the identity of a run: it has groups that changed since an earlier snapshot. */
export const CHANGES_PART: u64 = 1 << 33;
/** Approximate bytes of memory of the groups of a run; then the number of groups at most. */
const RUN_BYTES: u32 = 65536;
const RUN_GROUPS: u32 = 1024;
/** Images on a page of pointers to them. */
const PAGE_LOG: u32 = 12;
const PAGE_IMAGES: u32 = 1 << PAGE_LOG;

/** Walks of the snapshot that is being taken, in their order. */
let first: Walk = changetype<Walk>(0);
let last: Walk = changetype<Walk>(0);
/** Chain of that snapshot, 0 when none is being taken; then its segment. */
let chain: u32 = 0;
let segment: u32 = 0;
/** Address of the number of pages and runs in each segment of the chain. */
let live: usize = 0;
/** Values and bytes that sets may still save at once. */
let budget: u32 = 0;
let isShort: bool = false;
/** Address of the numbers of the sets that were left, their count, and the room for them. */
let sets: usize = 0;
let setCount: u32 = 0;
let setRoom: u32 = 0;

/**
 * Begins to leave sets to the snapshot `ofSegment` of a chain, until `walksTaken`. Sets with `small` values or bytes of
 * text in all are saved at once. At `ofLive` are the numbers of pages and runs in each segment.
 */
export function walksBegin(ofChain: u32, ofSegment: u32, ofLive: usize, small: u32): void {
  chain = ofChain;
  segment = ofSegment;
  live = ofLive;
  first = changetype<Walk>(0);
  last = changetype<Walk>(0);
  budget = small;
  isShort = false;
  setCount = 0;
}

/** Stops leaving sets to the snapshot; returns its first walk. */
export function walksTaken(): Walk {
  chain = 0;
  return first;
}

/** Number of sets that were left to the last snapshot that was taken. */
export function walkSets(): u32 {
  return setCount;
}

/** Address of the numbers of these sets, a u32 each; valid until the next snapshot. */
export function walkSetNumbers(): usize {
  return sets;
}

/** True when memory was exhausted for a walk: the snapshot fails. */
export function walksLack(): bool {
  return isShort;
}

/** How often changes of the set that `walkTake` left last were written since the set was. */
export let takenTimes: u32 = 0;

/**
 * Leaves the groups of the set to the snapshot that is being taken. Returns the number of the set in the chain
 * (`takenTimes`), -1 when the set is to be saved at once.
 */
export function walkTake(spec: WindowSpec, set: GroupSet): i64 {
  const count = set.count;
  if (!chain || !count) return -1;
  if (isSmall(spec, set, count)) {
    // Later snapshots of the chain would not know what this one has.
    if (set.changes) changesOf(set).chain = 0;
    return -1;
  }
  const changes = changesFor(set);
  if (!changes || !leave(spec, set, changes)) {
    isShort = true;
    return 0;
  }
  takenTimes = changes.times;
  changesLive(changes, live);
  return changes.number;
}

/** Begins to write the set, or what has changed in it; false when memory is exhausted. */
function leave(spec: WindowSpec, set: GroupSet, changes: Changes): bool {
  // A walk that is not at its end belongs to a snapshot that was given up.
  const isWhole = !!changes.walk || !isTracked(changes, chain);
  const from = isWhole ? 0 : changes.count;
  const changed = isWhole ? 0 : changes.listed;
  const isSame = !isWhole && !changed && from == set.count;
  if (changes.walk) {
    changes.walk.changes = changetype<Changes>(0);
    changes.walk.isLacking = 1;
    changes.walk = changetype<Walk>(0);
  }
  const number = isWhole ? newPartNumber() : changes.number;
  if (!noteSet(number)) return false;
  if (isSame) return true;
  const walk = walkNew(spec, set);
  if (!walk) {
    changes.chain = 0;
    return false;
  }
  walk.number = number;
  walk.times = isWhole ? 0 : changes.times + 1;
  walk.from = from;
  walk.done = from;
  walk.group = from ? changes.last.next : set.first;
  if (!isWhole) changesHandOver(changes, walk);
  walk.changes = changes;
  changes.walk = walk;
  changes.chain = chain;
  changes.number = number;
  changes.times = walk.times;
  changes.rewritten = isWhole ? 0 : changes.rewritten + changed;
  changesWritten(changes, walkRuns(walk), segment);
  changesBegin(changes, set);
  if (last) last.next = walk;
  else first = walk;
  last = walk;
  return true;
}

/** Notes the number of a set that the snapshot has; false when memory is exhausted. */
function noteSet(number: u32): bool {
  if (setCount == setRoom) {
    const wanted = max(setRoom << 1, 64);
    const made = alloc(wanted << 2, WORKSPACE);
    if (!made) return false;
    memory.copy(made, sets, setCount << 2);
    free(sets, setRoom << 2, WORKSPACE);
    sets = made;
    setRoom = wanted;
  }
  store<u32>(sets + ((<usize>setCount) << 2), number);
  setCount++;
  return true;
}

function isSmall(spec: WindowSpec, set: GroupSet, count: u32): bool {
  const values = <u64>count * (<u64>spec.keeps + spec.aggs + 1);
  const needed = max(values, <u64>poolBytes(set.values));
  if (needed > budget) return false;
  budget -= <u32>needed;
  return true;
}

function walkNew(spec: WindowSpec, set: GroupSet): Walk {
  const count = set.count;
  const walk = changetype<Walk>(allocZeroed(WALK_SIZE, WORKSPACE));
  if (!walk) return changetype<Walk>(0);
  poolInit(walk.images, 65536, HELD);
  poolInit(walk.groups, 128, HELD);
  poolInit(walk.values, 128, HELD);
  const specSize = <u32>(aggsAt(spec) - changetype<usize>(spec)) + spec.aggs * AGG_SIZE_OF;
  const copy = changetype<WindowSpec>(alloc(specSize, WORKSPACE));
  const images = allocZeroed(pagesOf(count) << 2, WORKSPACE);
  walk.count = count;
  walk.spec = copy;
  walk.specSize = specSize;
  walk.held = images;
  if (!copy || !images) {
    walkFree(walk);
    return changetype<Walk>(0);
  }
  memory.copy(changetype<usize>(copy), changetype<usize>(spec), specSize);
  const keyless = set.nullGroup;
  const each = (<u64>poolBytes(set.groupsPool) + poolBytes(set.values)) / count;
  walk.nullAt = keyless ? groupNumber(spec, keyless) : count;
  walk.each = <u32>each;
  return walk;
}

// @ts-ignore: decorator
@inline function pagesOf(count: u32): u32 {
  return ((count - 1) >> PAGE_LOG) + 1;
}

/** Frees the walk, and its pools from an emptied set; returns the next walk of the snapshot. */
export function walkFree(walk: Walk): Walk {
  const next = walk.next;
  const pages = pagesOf(walk.count);
  const images = walk.held;
  if (walk.changes) walk.changes.walk = changetype<Walk>(0);
  poolFree(walk.images);
  poolFree(walk.groups);
  poolFree(walk.values);
  if (images)
    for (let i: u32 = 0; i < pages; i++) free(<usize>load<u32>(images + ((<usize>i) << 2)), PAGE_IMAGES << 2, HELD);
  free(images, pages << 2, WORKSPACE);
  free(walk.noted, walk.notedBytes, HELD);
  free(walk.list, walk.capacity << 2, HELD);
  free(changetype<usize>(walk.spec), walk.specSize, WORKSPACE);
  free(changetype<usize>(walk), WALK_SIZE, WORKSPACE);
  return next;
}

/** Number of groups that are not written. */
// @ts-ignore: decorator
@inline function entriesLeft(walk: Walk): u32 {
  return walk.listed - walk.place + (walk.count - walk.done);
}

/** Number of runs that the walk will write when pieces are large. */
export function walkRuns(walk: Walk): u32 {
  return (entriesLeft(walk) - 1) / runOf(walk, RUN_BYTES) + 1;
}

/** Number of groups in a run of `bytes` bytes. */
function runOf(walk: Walk, bytes: u32): u32 {
  return max(min(min(bytes, RUN_BYTES) / max(walk.each, 1), RUN_GROUPS), 1);
}

/** True when memory was exhausted for an image: the output of the walk is useless. */
export function walkLacks(walk: Walk): bool {
  return walk.isLacking != 0;
}

/**
 * Address at which the address of the image of a group stands; 0 when there is no place for it. With `makes` a place is
 * made, unless memory is exhausted.
 */
function imageAt(walk: Walk, number: u32, makes: bool): usize {
  const at = walk.held + ((<usize>(number >> PAGE_LOG)) << 2);
  let page = <usize>load<u32>(at);
  if (!page) {
    if (!makes) return 0;
    page = allocZeroed(PAGE_IMAGES << 2, HELD);
    if (!page) return 0;
    store<u32>(at, <u32>page);
  }
  return page + ((<usize>(number & (PAGE_IMAGES - 1))) << 2);
}

/** To be called before rows change the groups: notes them, and saves images of those that a walk has still to write. */
export function walkHold(spec: WindowSpec, set: GroupSet, groups: usize, n: u32): void {
  const changes = changesOf(set);
  const walk = holding(changes);
  if (walk) {
    for (let i: u32 = 0; i < n; i++)
      if (!hold(spec, walk, changetype<Group>(load<u32>(groups + ((<usize>i) << 2))))) break;
    held();
  }
  changesNote(spec, changes, groups, n);
}

let refusalsBefore: u32 = 0;

/** Begins to save images; returns the walk that gets them, 0 none. */
function holding(changes: Changes): Walk {
  const walk = changes.walk;
  if (!walk || walkLacks(walk)) return changetype<Walk>(0);
  refusalsBefore = refusals;
  if (holdBegin(walk.images)) return walk;
  walk.isLacking = 1;
  forgiveRefusals(refusalsBefore);
  return changetype<Walk>(0);
}

/** Ends the saving of images; a lack of memory harms the snapshot alone. */
function held(): void {
  holdEnd();
  forgiveRefusals(refusalsBefore);
}

/** True when the walk has written the group of that number, or does not have to. */
// @ts-ignore: decorator
@inline function isWritten(walk: Walk, number: u32): bool {
  const from = walk.from;
  if (number < from) return !(load<u8>(walk.noted + (number >> 3)) & (1 << (number & 7)));
  return number < walk.done || number >= walk.count;
}

/** Saves the image of a group, if it needs one; false when memory is exhausted. */
function hold(spec: WindowSpec, walk: Walk, group: Group): bool {
  const number = groupNumber(spec, group);
  if (isWritten(walk, number)) return true;
  const at = imageAt(walk, number, true);
  if (at && load<u32>(at)) return true;
  if (at) {
    groupSave(spec, group);
    store<u32>(at, <u32>holdNext());
    if (load<u32>(at)) return true;
  }
  walk.isLacking = 1;
  return false;
}

/**
 * Writes the next run, of about `most` bytes, or goes on with the one that was left; true after the last run. A run
 * with a large group is left in its middle once `until` bytes are saved in all.
 */
export function walkWrite(walk: Walk, most: u32, until: u64): bool {
  const spec = walk.spec;
  const nullAt = walk.nullAt;
  let left = walk.left;
  if (left) partResume();
  else left = runBegin(walk, most);
  let piece = walk.piece;
  let item = walk.item;
  for (; left; left--) {
    const isChanged = walk.place < walk.listed;
    const group = isChanged ? changetype<Group>(load<u32>(walk.list + ((<usize>walk.place) << 2))) : walk.group;
    const number = isChanged ? groupNumber(spec, group) : walk.done;
    if (!piece) {
      if (walk.times) writeU32(number);
      if (!isChanged && number != nullAt) writeBytes(group.key, group.keyLen);
      piece = imageOf(spec, walk, group, number);
      item = 0;
    }
    if (!piece) groupSave(spec, group);
    else {
      piece = writeHeldSome(piece, item, until);
      if (piece) break;
    }
    if (isChanged) {
      const at = walk.noted + (number >> 3);
      store<u8>(at, load<u8>(at) & ~((<u8>1) << (<u8>(number & 7))));
      walk.place++;
    } else {
      walk.done = number + 1;
      walk.group = group.next;
    }
  }
  walk.left = left;
  walk.piece = piece;
  walk.item = heldItem;
  if (left) {
    partLeave();
    return false;
  }
  partEnd();
  return entriesLeft(walk) == 0;
}

/** Writes what is before the groups of a run; returns their number. */
function runBegin(walk: Walk, most: u32): u32 {
  const left = entriesLeft(walk);
  const n = min(runOf(walk, most), left);
  const times = walk.times;
  const isFirst = walk.done == walk.from && walk.place == 0;
  partBegin(GROUPS_PART | (times ? CHANGES_PART : 0) | walk.number);
  if (!times) {
    writeU32(walk.done);
    writeU32(n);
    if (isFirst) headWrite(walk.spec, walk.count, walk.nullAt);
    return n;
  }
  writeU32(times);
  writeBool(isFirst);
  writeU32(n);
  if (isFirst) {
    writeU32(walk.count);
    writeU32(walk.nullAt);
    writeU32(left);
  }
  return n;
}

/**
 * The image of a group; one is made for a group that takes long to write. Returns 0 for other groups, and when memory
 * is exhausted.
 */
function imageOf(spec: WindowSpec, walk: Walk, group: Group, number: u32): usize {
  const at = imageAt(walk, number, false);
  if (at && load<u32>(at)) return <usize>load<u32>(at);
  if (!isLarge(spec, changetype<usize>(group))) return 0;
  const before = refusals;
  const to = imageAt(walk, number, true);
  let image: usize = 0;
  if (to && holdBegin(walk.images)) {
    groupSave(spec, group);
    image = holdNext();
    holdEnd();
    store<u32>(to, <u32>image);
  }
  forgiveRefusals(before);
  return image;
}

/** True for a group with a long text or list, which takes long to write. */
function isLarge(spec: WindowSpec, group: usize): bool {
  const keeps = spec.keeps;
  const tags = group + spec.tagsAt;
  for (let k: u32 = 0; k < keeps; k++) {
    if (isLong(load<u8>(tags + k), load<u64>(group + GROUP_HEAD + ((<usize>k) << 3)))) return true;
  }
  const aggs = spec.aggs;
  let agg = aggsAt(spec);
  for (let a: u32 = 0; a < aggs; a++, agg += AGG_SIZE_OF) {
    const state = group + load<u32>(agg, offsetof<AggregateSpec>('state'));
    const tag = load<u8>(tags + keeps + a);
    if (tag == Tag.ERROR) continue;
    if (
      keepsValues(load<u16>(agg, offsetof<AggregateSpec>('fn')))
        ? load<u32>(state, 4) >= LONG_LIST
        : isLong(tag, load<u64>(state))
    )
      return true;
  }
  return false;
}

/** Bytes from which a text is written in pieces. */
const LONG_TEXT: u32 = 1 << 20;

// @ts-ignore: decorator
@inline function isLong(tag: u8, payload: u64): bool {
  if (tag == Tag.STR || tag == Tag.BYTES) return lenOf(payload) >= LONG_TEXT;
  return tag == Tag.ARRAY && payload != NO_LIST && lenOf(payload) >= LONG_LIST;
}

function headWrite(spec: WindowSpec, count: u32, nullAt: u32): void {
  const aggs = spec.aggs;
  writeU32(count);
  writeU32(nullAt);
  writeU32(spec.keeps);
  writeU32(aggs);
  let agg = aggsAt(spec);
  for (let a: u32 = 0; a < aggs; a++, agg += AGG_SIZE_OF) writeU32(load<u16>(agg, offsetof<AggregateSpec>('fn')));
}
