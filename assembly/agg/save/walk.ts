// Groups as they were at one moment, written while rows change them. When a snapshot is taken a walk notes where the
// groups of a set begin and how many there are, and copies nothing. It writes them in their order, run by run. Rows
// that come to a group before the walk does save what it was: an image, which is written in its place.
//
//   run    first u32 (number of its first group) | n u32 | head, where first is 0 | groups
//   head   count u32 | number u32 of the group without key, count where there is none | keeps u32 | aggregates u32 |
//   function u32 of each
//   group  key, unless it is the one without | group (agg/save/group.ts)
//
// A large group is written by way of its image, in which long lists stand where they are: they only grow. A run may be
// left in the middle of it.
//
// A run is a part (state/form.ts) whose identity has a bit of its own besides the number that the walk has in the chain
// of snapshots.
import { alloc, allocZeroed, forgiveRefusals, free, refusals, WORKSPACE } from '../../mem/alloc';
import { poolBytes, poolFree, poolInit } from '../../mem/pool';
import { apartNumber } from '../../state/apart';
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
import { GROUPS_POOL, GROUP_KEY, GROUP_KEY_LEN, SET_VALUES, groupNumber } from '../group/group';
import { GROUP_NEXT, SET_COUNT, SET_FIRST, SET_NULL_GROUP } from '../group/table';
import { groupSave } from './group';
import {
  WALK_COUNT,
  WALK_DONE,
  WALK_EACH,
  WALK_END,
  WALK_GROUP,
  WALK_GROUPS,
  WALK_HELD,
  WALK_IMAGES,
  WALK_ITEM,
  WALK_LACKING,
  WALK_NEXT,
  WALK_NULL,
  WALK_NUMBER,
  WALK_PIECE,
  WALK_SIZE,
  WALK_SPEC,
  WALK_SPEC_SIZE,
  WALK_VALUES,
  pin,
  unpin,
  walkOf,
} from '../group/pinned';
import {
  AGG_FN,
  AGG_SIZE_OF,
  AGG_STATE,
  GROUP_HEAD,
  WINDOW_AGGS,
  WINDOW_KEEPS,
  WINDOW_TAGS_AT,
  aggsAt,
} from '../group/spec';

/** In the identity of a part: it is a run of groups. */
export const GROUPS_PART: u64 = 1 << 32;
/** Bytes of memory that the groups of a run have about, and groups at most. */
const RUN_BYTES: u32 = 65536;
const RUN_GROUPS: u32 = 1024;
/** Images on a page of pointers to them. */
const PAGE_LOG: u32 = 12;
const PAGE_IMAGES: u32 = 1 << PAGE_LOG;

/** Who is charged for what walks keep of sets: not those whose sets they are. */
const HELD: usize = memory.data(8, 8);

/**
 * Walks of the snapshot that is being taken, in their order; what sets may have yet that are saved at once, in values
 * and bytes.
 */
let isTaking: bool = false;
let first: usize = 0;
let last: usize = 0;
let budget: u32 = 0;
let isShort: bool = false;

/** A snapshot is being taken until `walksTaken`; sets of `small` values or bytes of text in all are saved at once. */
export function walksBegin(small: u32): void {
  isTaking = true;
  first = 0;
  last = 0;
  budget = small;
  isShort = false;
}

/** Ends the taking; returns the walks. */
export function walksTaken(): usize {
  isTaking = false;
  return first;
}

/** True when there was no memory for all of them: the snapshot comes to nothing. */
export function walksLack(): bool {
  return isShort;
}

/**
 * Leaves the groups of the set to the snapshot that is being taken, and returns their number; -1 when they are to be
 * saved at once.
 */
export function walkTake(spec: usize, set: usize): i64 {
  const count = load<u32>(set, SET_COUNT);
  if (!isTaking || !count || isSmall(spec, set, count)) return -1;
  // One of a snapshot that was given up.
  walkOf(set);
  const walk = walkNew(spec, set, count);
  if (!walk) {
    isShort = true;
    return 0;
  }
  if (last) store<u32>(last, <u32>walk, WALK_NEXT);
  else first = walk;
  last = walk;
  return load<u32>(walk, WALK_NUMBER);
}

function isSmall(spec: usize, set: usize, count: u32): bool {
  const values = <u64>count * (load<u32>(spec, WINDOW_KEEPS) + load<u32>(spec, WINDOW_AGGS) + 1);
  const needed = max(values, <u64>poolBytes(set + SET_VALUES));
  if (needed > budget) return false;
  budget -= <u32>needed;
  return true;
}

function walkNew(spec: usize, set: usize, count: u32): usize {
  const walk = allocZeroed(WALK_SIZE, WORKSPACE);
  if (!walk) return 0;
  poolInit(walk + WALK_IMAGES, 65536, HELD);
  poolInit(walk + WALK_GROUPS, 128, HELD);
  poolInit(walk + WALK_VALUES, 128, HELD);
  const specSize = <u32>(aggsAt(spec) - spec) + load<u32>(spec, WINDOW_AGGS) * AGG_SIZE_OF;
  const copy = alloc(specSize, WORKSPACE);
  const images = allocZeroed(pagesOf(count) << 2, WORKSPACE);
  store<u32>(walk, count, WALK_COUNT);
  store<u32>(walk, <u32>copy, WALK_SPEC);
  store<u32>(walk, specSize, WALK_SPEC_SIZE);
  store<u32>(walk, <u32>images, WALK_HELD);
  if (!copy || !images || !pin(set, walk)) {
    walkFree(walk);
    return 0;
  }
  memory.copy(copy, spec, specSize);
  const keyless = <usize>load<u32>(set, SET_NULL_GROUP);
  const each = (<u64>poolBytes(set + GROUPS_POOL) + poolBytes(set + SET_VALUES)) / count;
  store<u32>(walk, keyless ? groupNumber(spec, keyless) : count, WALK_NULL);
  store<u32>(walk, <u32>each, WALK_EACH);
  store<u32>(walk, load<u32>(set, SET_FIRST), WALK_GROUP);
  store<u32>(walk, apartNumber(), WALK_NUMBER);
  return walk;
}

// @ts-ignore: decorator
@inline function pagesOf(count: u32): u32 {
  return ((count - 1) >> PAGE_LOG) + 1;
}

/** Frees the walk, and what it has of a set that was emptied; returns the next of its snapshot. */
export function walkFree(walk: usize): usize {
  const next = <usize>load<u32>(walk, WALK_NEXT);
  const pages = pagesOf(load<u32>(walk, WALK_COUNT));
  const images = <usize>load<u32>(walk, WALK_HELD);
  unpin(walk);
  poolFree(walk + WALK_IMAGES);
  poolFree(walk + WALK_GROUPS);
  poolFree(walk + WALK_VALUES);
  if (images)
    for (let i: u32 = 0; i < pages; i++) free(<usize>load<u32>(images + ((<usize>i) << 2)), PAGE_IMAGES << 2, HELD);
  free(images, pages << 2, WORKSPACE);
  free(<usize>load<u32>(walk, WALK_SPEC), load<u32>(walk, WALK_SPEC_SIZE), WORKSPACE);
  free(walk, WALK_SIZE, WORKSPACE);
  return next;
}

/** Runs that it will write, where pieces are large. */
export function walkRuns(walk: usize): u32 {
  return (load<u32>(walk, WALK_COUNT) - 1) / runOf(walk, RUN_BYTES) + 1;
}

/** Groups of a run of so many bytes. */
function runOf(walk: usize, bytes: u32): u32 {
  return max(min(min(bytes, RUN_BYTES) / max(load<u32>(walk, WALK_EACH), 1), RUN_GROUPS), 1);
}

/** True when memory was exhausted for an image: what it writes is worth nothing. */
export function walkLacks(walk: usize): bool {
  return load<u32>(walk, WALK_LACKING) != 0;
}

/**
 * Where the address of the image of a group stands; 0 when there is no place for it: `makes` makes one, while there is
 * memory.
 */
function imageAt(walk: usize, number: u32, makes: bool): usize {
  const at = <usize>load<u32>(walk, WALK_HELD) + ((<usize>(number >> PAGE_LOG)) << 2);
  let page = <usize>load<u32>(at);
  if (!page) {
    if (!makes) return 0;
    page = allocZeroed(PAGE_IMAGES << 2, HELD);
    if (!page) return 0;
    store<u32>(at, <u32>page);
  }
  return page + ((<usize>(number & (PAGE_IMAGES - 1))) << 2);
}

/** Saves what those of the groups are that the walk of the set has still to write: they will change. */
export function walkHold(spec: usize, set: usize, groups: usize, n: u32): void {
  const walk = holding(set);
  if (!walk) return;
  for (let i: u32 = 0; i < n; i++) if (!hold(spec, walk, <usize>load<u32>(groups + ((<usize>i) << 2)))) break;
  held();
}

let refusalsBefore: u32 = 0;

/** Begins to save images; returns the walk that they are for, 0 none. */
function holding(set: usize): usize {
  const walk = walkOf(set);
  if (!walk || walkLacks(walk)) return 0;
  refusalsBefore = refusals;
  if (holdBegin(walk + WALK_IMAGES)) return walk;
  store<u32>(walk, 1, WALK_LACKING);
  forgiveRefusals(refusalsBefore);
  return 0;
}

/** What there was no memory for is harm to the snapshot alone. */
function held(): void {
  holdEnd();
  forgiveRefusals(refusalsBefore);
}

/** False when memory is exhausted. */
function hold(spec: usize, walk: usize, group: usize): bool {
  const number = groupNumber(spec, group);
  if (number < load<u32>(walk, WALK_DONE) || number >= load<u32>(walk, WALK_COUNT)) return true;
  const at = imageAt(walk, number, true);
  if (at && load<u32>(at)) return true;
  if (at) {
    groupSave(spec, group);
    store<u32>(at, <u32>holdNext());
    if (load<u32>(at)) return true;
  }
  store<u32>(walk, 1, WALK_LACKING);
  return false;
}

/**
 * Writes the next run, of `most` bytes about, or goes on with the one that was left; true when it was the last one. A
 * run with a large group is left in its middle when so many bytes are saved in all.
 */
export function walkWrite(walk: usize, most: u32, until: u64): bool {
  const spec = <usize>load<u32>(walk, WALK_SPEC);
  const count = load<u32>(walk, WALK_COUNT);
  const nullAt = load<u32>(walk, WALK_NULL);
  let number = load<u32>(walk, WALK_DONE);
  let end = load<u32>(walk, WALK_END);
  if (end) partResume();
  else {
    end = min(number + runOf(walk, most), count);
    partBegin(GROUPS_PART | load<u32>(walk, WALK_NUMBER));
    writeU32(number);
    writeU32(end - number);
    if (number == 0) headWrite(spec, count, nullAt);
  }
  let group = <usize>load<u32>(walk, WALK_GROUP);
  let piece = <usize>load<u32>(walk, WALK_PIECE);
  let item = load<u32>(walk, WALK_ITEM);
  for (; number < end; number++, group = <usize>load<u32>(group, GROUP_NEXT)) {
    if (!piece) {
      if (number != nullAt) writeBytes(<usize>load<u32>(group, GROUP_KEY), load<u32>(group, GROUP_KEY_LEN));
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
  store<u32>(walk, <u32>group, WALK_GROUP);
  store<u32>(walk, number, WALK_DONE);
  store<u32>(walk, <u32>piece, WALK_PIECE);
  store<u32>(walk, heldItem, WALK_ITEM);
  store<u32>(walk, piece ? end : 0, WALK_END);
  if (piece) {
    partLeave();
    return false;
  }
  partEnd();
  return end == count;
}

/**
 * The image of a group, which is made of one that takes long to be written; 0 of others, and when there is no memory
 * for it.
 */
function imageOf(spec: usize, walk: usize, group: usize, number: u32): usize {
  const at = imageAt(walk, number, false);
  if (at && load<u32>(at)) return <usize>load<u32>(at);
  if (!isLarge(spec, group)) return 0;
  const before = refusals;
  const to = imageAt(walk, number, true);
  let image: usize = 0;
  if (to && holdBegin(walk + WALK_IMAGES)) {
    groupSave(spec, group);
    image = holdNext();
    holdEnd();
    store<u32>(to, <u32>image);
  }
  forgiveRefusals(before);
  return image;
}

/** True for a group with a value, or a list of them, that is not written in a moment. */
function isLarge(spec: usize, group: usize): bool {
  const keeps = load<u32>(spec, WINDOW_KEEPS);
  const tags = group + load<u32>(spec, WINDOW_TAGS_AT);
  for (let k: u32 = 0; k < keeps; k++) {
    if (isLong(load<u8>(tags + k), load<u64>(group + GROUP_HEAD + ((<usize>k) << 3)))) return true;
  }
  const aggs = load<u32>(spec, WINDOW_AGGS);
  let agg = aggsAt(spec);
  for (let a: u32 = 0; a < aggs; a++, agg += AGG_SIZE_OF) {
    const state = group + load<u32>(agg, AGG_STATE);
    const tag = load<u8>(tags + keeps + a);
    if (tag == Tag.ERROR) continue;
    if (keepsValues(load<u16>(agg, AGG_FN)) ? load<u32>(state, 4) >= LONG_LIST : isLong(tag, load<u64>(state)))
      return true;
  }
  return false;
}

/** Texts of so many bytes are written piece by piece. */
const LONG_TEXT: u32 = 1 << 20;

// @ts-ignore: decorator
@inline function isLong(tag: u8, payload: u64): bool {
  if (tag == Tag.STR || tag == Tag.BYTES) return lenOf(payload) >= LONG_TEXT;
  return tag == Tag.ARRAY && payload != NO_LIST && lenOf(payload) >= LONG_LIST;
}

function headWrite(spec: usize, count: u32, nullAt: u32): void {
  const aggs = load<u32>(spec, WINDOW_AGGS);
  writeU32(count);
  writeU32(nullAt);
  writeU32(load<u32>(spec, WINDOW_KEEPS));
  writeU32(aggs);
  let agg = aggsAt(spec);
  for (let a: u32 = 0; a < aggs; a++, agg += AGG_SIZE_OF) writeU32(load<u16>(agg, AGG_FN));
}
