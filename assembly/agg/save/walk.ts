// Groups as they were at one moment, written while rows change them. When a snapshot is taken, a walk notes the first
// group of a set and the number of groups, and copies nothing. It writes the groups in their order, run by run. When a
// row comes to a group before the walk, the group is saved first as an image, which is written in its place.
//   run    first u32 (number of its first group) | n u32 | head, where first is 0 | groups
//   head   count u32 | number u32 of the group without key, count where there is none | keeps u32 | aggregates u32 |
//   function u32 of each
//   group  key, unless it is the one without | group (agg/save/group.ts)
//
// A large group is written from its image, in which long lists are not copied, because they only grow. A run may be
// left in the middle of it.
//
// A run is a part (state/form.ts). Its identity has a bit of its own, and the number of the walk in the chain of
// snapshots.
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
  writeBytes,
  writeHeldSome,
  writeU32,
} from '../../state/writer';
import { keepsValues } from '../../gen/aggregates';
import { groupNumber } from '../group/group';
import { groupSave } from './group';
import { Walk, WALK_SIZE, pin, unpin, walkOf } from '../group/pinned';
import { AGG_SIZE_OF, GROUP_HEAD, aggsAt } from '../group/spec';
import { WindowSpec, AggregateSpec } from '../../gen/window-layouts';
import { GroupSet, Group } from '../group/table';

/** Flag in the identity of a part: the part is a run of groups. */
export const GROUPS_PART: u64 = 1 << 32;
/** Approximate bytes of memory of the groups of a run; then the number of groups at most. */
const RUN_BYTES: u32 = 65536;
const RUN_GROUPS: u32 = 1024;
/** Images on a page of pointers to them. */
const PAGE_LOG: u32 = 12;
const PAGE_IMAGES: u32 = 1 << PAGE_LOG;

/** Account of what walks keep of sets, so that the owners of the sets are not charged. */
const HELD: usize = memory.data(8, 8);

/**
 * Walks of the snapshot that is being taken, in their order; then the values and bytes that sets may still save at
 * once.
 */
let isTaking: bool = false;
let first: Walk = changetype<Walk>(0);
let last: Walk = changetype<Walk>(0);
let budget: u32 = 0;
let isShort: bool = false;

/**
 * Begins to leave sets to a snapshot, until `walksTaken`. Sets with `small` values or bytes of text in all are saved at
 * once.
 */
export function walksBegin(small: u32): void {
  isTaking = true;
  first = changetype<Walk>(0);
  last = changetype<Walk>(0);
  budget = small;
  isShort = false;
}

/** Stops leaving sets to the snapshot; returns its first walk. */
export function walksTaken(): Walk {
  isTaking = false;
  return first;
}

/** True when memory was exhausted for a walk: the snapshot fails. */
export function walksLack(): bool {
  return isShort;
}

/**
 * Leaves the groups of the set to the snapshot that is being taken. Returns the number under which it writes them, -1
 * when the set is to be saved at once.
 */
export function walkTake(spec: WindowSpec, set: GroupSet): i64 {
  const count = set.count;
  if (!isTaking || !count || isSmall(spec, set, count)) return -1;
  // The set may have a walk of a snapshot that was given up.
  walkOf(set);
  const walk = walkNew(spec, set, count);
  if (!walk) {
    isShort = true;
    return 0;
  }
  if (last) last.next = walk;
  else first = walk;
  last = walk;
  return walk.number;
}

function isSmall(spec: WindowSpec, set: GroupSet, count: u32): bool {
  const values = <u64>count * (<u64>spec.keeps + spec.aggs + 1);
  const needed = max(values, <u64>poolBytes(set.values));
  if (needed > budget) return false;
  budget -= <u32>needed;
  return true;
}

function walkNew(spec: WindowSpec, set: GroupSet, count: u32): Walk {
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
  if (!copy || !images || !pin(set, walk)) {
    walkFree(walk);
    return changetype<Walk>(0);
  }
  memory.copy(changetype<usize>(copy), changetype<usize>(spec), specSize);
  const keyless = set.nullGroup;
  const each = (<u64>poolBytes(set.groupsPool) + poolBytes(set.values)) / count;
  walk.nullAt = keyless ? groupNumber(spec, keyless) : count;
  walk.each = <u32>each;
  walk.group = set.first;
  walk.number = newPartNumber();
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
  unpin(walk);
  poolFree(walk.images);
  poolFree(walk.groups);
  poolFree(walk.values);
  if (images)
    for (let i: u32 = 0; i < pages; i++) free(<usize>load<u32>(images + ((<usize>i) << 2)), PAGE_IMAGES << 2, HELD);
  free(images, pages << 2, WORKSPACE);
  free(changetype<usize>(walk.spec), walk.specSize, WORKSPACE);
  free(changetype<usize>(walk), WALK_SIZE, WORKSPACE);
  return next;
}

/** Number of runs that the walk will write when pieces are large. */
export function walkRuns(walk: Walk): u32 {
  return (walk.count - 1) / runOf(walk, RUN_BYTES) + 1;
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

/** Saves images of the groups that the walk of the set has still to write, because rows will change them. */
export function walkHold(spec: WindowSpec, set: GroupSet, groups: usize, n: u32): void {
  const walk = holding(set);
  if (!walk) return;
  for (let i: u32 = 0; i < n; i++)
    if (!hold(spec, walk, changetype<Group>(load<u32>(groups + ((<usize>i) << 2))))) break;
  held();
}

let refusalsBefore: u32 = 0;

/** Begins to save images; returns the walk that gets them, 0 none. */
function holding(set: GroupSet): Walk {
  const walk = walkOf(set);
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

/** Saves the image of a group, if it needs one; false when memory is exhausted. */
function hold(spec: WindowSpec, walk: Walk, group: Group): bool {
  const number = groupNumber(spec, group);
  if (number < walk.done || number >= walk.count) return true;
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
  const count = walk.count;
  const nullAt = walk.nullAt;
  let number = walk.done;
  let end = walk.end;
  if (end) partResume();
  else {
    end = min(number + runOf(walk, most), count);
    partBegin(GROUPS_PART | walk.number);
    writeU32(number);
    writeU32(end - number);
    if (number == 0) headWrite(spec, count, nullAt);
  }
  let group = walk.group;
  let piece = walk.piece;
  let item = walk.item;
  for (; number < end; number++, changetype<usize>((group = group.next))) {
    if (!piece) {
      if (number != nullAt) writeBytes(group.key, group.keyLen);
      piece = imageOf(spec, walk, group, number);
      item = 0;
      if (!piece) {
        groupSave(spec, group);
        continue;
      }
    }
    piece = writeHeldSome(piece, item, until);
    if (piece) break;
  }
  walk.group = group;
  walk.done = number;
  walk.piece = piece;
  walk.item = heldItem;
  walk.end = piece ? end : 0;
  if (piece) {
    partLeave();
    return false;
  }
  partEnd();
  return end == count;
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
