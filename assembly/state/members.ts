// Members of a node: columns of its rows, values of its groups, aggregates, functions. The host gives each member a key
// that stands for its meaning. When the plan of a node changes, the node finds by these keys the saved members that it
// still has.
//
//   own     lists u32 | count u32[lists] | keys u64, list by list         as the host gives them, in the order of the
//   node's own
//   saved   the same, numbers in few bytes, before what the operator writes
//
// Without keys, a node has the same members as when it was saved.
import { LoadFault } from '../gen/state-layouts';
import { alloc, free, WORKSPACE } from '../mem/alloc';
import { canFollow, readFail, readFails, readKey, readUpTo } from './reader';
import { writeKey, writeU32 } from './writer';
import { Node } from '../gen/node-layouts';

/** Lists of the members of all kinds of nodes; tables of joins are those from `ROWS` on, in their order. */
export namespace Members {
  /** Columns of rows that wait or are kept. */
  export const ROWS: u32 = 0;
  /**
   * Kept values of the first rows of groups of windows; fields of the newest rows of an as-of join; the other side of
   * an interval join.
   */
  export const KEPT: u32 = 1;
  /** Aggregates of the groups of windows. */
  export const AGGREGATES: u32 = 2;
  /** Functions that look back. */
  export const FUNCTIONS: u32 = 0;
}

/** Stands for the place of a member that the node does not have. */
export const ABSENT: u32 = 0xffffffff;

const MOST_LISTS: u32 = 256;
const MOST_MEMBERS: u32 = 65536;
/**
 * Nodes that take the content of one part at most, as functions that look back may be divided otherwise now; then these
 * nodes and the members of each.
 */
const MOST_TARGETS: u32 = 64;
const NODES: usize = memory.data(4 * 64, 4);
const OWN: usize = memory.data(4 * 64, 4);
let targets: u32 = 0;

/** First member of each saved list in `places`; then its count, and whether it equals the list of the node. */
const FIRST: usize = memory.data(4 * 256, 4);
const COUNT: usize = memory.data(4 * 256, 4);
const SAME: usize = memory.data(256, 4);
let lists: u32 = 0;
/** For each saved member, u32 each: its place in the node, and the target that has it. */
let places: usize = 0;
let placesSize: u32 = 0;

/**
 * Adds a node that takes the next part, besides those of the last calls; `own` are its members, 0 without keys. False
 * when nodes are too many.
 */
export function loadTarget(node: usize, own: usize): bool {
  if (targets == MOST_TARGETS) return false;
  store<u32>(NODES + ((<usize>targets) << 2), <u32>node);
  store<u32>(OWN + ((<usize>targets) << 2), <u32>own);
  targets++;
  return true;
}

export function targetCount(): u32 {
  return targets;
}

export function targetNode(i: u32): Node {
  return changetype<Node>(load<u32>(NODES + ((<usize>i) << 2)));
}

// @ts-ignore: decorator
@inline function ownOf(target: u32): usize {
  return <usize>load<u32>(OWN + ((<usize>target) << 2));
}

// @ts-ignore: decorator
@inline function listsOf(own: usize): u32 {
  return own ? load<u32>(own) : 0;
}

// @ts-ignore: decorator
@inline function countOf(own: usize, list: u32): u32 {
  return list < listsOf(own) ? load<u32>(own + ((<usize>list) << 2), 4) : 0;
}

/** Address of the keys of a list. */
function keysOf(own: usize, list: u32): usize {
  let at = own + 4 + ((<usize>load<u32>(own)) << 2);
  for (let l: u32 = 0; l < list; l++) at += (<usize>countOf(own, l)) << 3;
  return at;
}

/** Writes the members of a node, 0 without keys. */
export function membersSave(own: usize): void {
  const n = listsOf(own);
  writeU32(n);
  for (let l: u32 = 0; l < n; l++) {
    const count = countOf(own, l);
    writeU32(count);
    const keys = keysOf(own, l);
    for (let i: u32 = 0; i < count; i++) writeKey(load<u64>(keys + ((<usize>i) << 3)));
  }
}

/** Reads the members of the part under way and finds them among those of its targets. */
export function membersLoad(): void {
  lists = readUpTo(MOST_LISTS);
  let total: u32 = 0;
  for (let l: u32 = 0; l < lists && !readFails(); l++) {
    const count = readUpTo(MOST_MEMBERS);
    store<u32>(FIRST + ((<usize>l) << 2), total);
    store<u32>(COUNT + ((<usize>l) << 2), count);
    if (!canFollow(count) || !roomFor(total + count)) readFail(LoadFault.DAMAGED);
    if (readFails()) break;
    let isSame = targets == 1 && count == countOf(ownOf(0), l);
    for (let i: u32 = 0, next: u32 = 0; i < count; i++) {
      next = find(l, readKey(), next, places + ((<usize>(total + i)) << 3));
      isSame = isSame && next == i + 1;
    }
    store<u8>(SAME + l, <u8>isSame);
    total += count;
  }
  if (readFails()) lists = 0;
}

/** Makes room for the places of `count` members; places that are there stay. */
function roomFor(count: u32): bool {
  const size = max(count, 64) << 3;
  if (size <= placesSize) return true;
  const wanted = max(size, placesSize << 1);
  const made = alloc(wanted, WORKSPACE);
  if (!made) {
    readFail(LoadFault.MEMORY);
    return false;
  }
  if (places) memory.copy(made, places, placesSize);
  free(places, placesSize, WORKSPACE);
  places = made;
  placesSize = wanted;
  return true;
}

/** Notes at `to` the place and target of the member, searched from its place `from` on. Returns the place behind it. */
function find(list: u32, key: u64, from: u32, to: usize): u32 {
  for (let t: u32 = 0; t < targets; t++) {
    const own = ownOf(t);
    const count = countOf(own, list);
    if (!count) continue;
    const keys = keysOf(own, list);
    let i = from < count ? from : 0;
    for (let n: u32 = 0; n < count; n++) {
      if (load<u64>(keys + ((<usize>i) << 3)) == key) {
        store<u32>(to, i);
        store<u32>(to, t, 4);
        return i + 1;
      }
      if (++i == count) i = 0;
    }
  }
  store<u32>(to, ABSENT);
  store<u32>(to, 0, 4);
  return from;
}

/** True when the saved list equals that of the node. */
export function areSame(list: u32): bool {
  return list >= lists || load<u8>(SAME + list) != 0;
}

/** Number of saved members of the list; `own` where there are no keys. */
export function savedCount(list: u32, own: u32): u32 {
  return list < lists ? load<u32>(COUNT + ((<usize>list) << 2)) : own;
}

/**
 * Place of a saved member in the node that has it; `placeTarget` is then that node's target. ABSENT when no node has
 * it.
 */
export function placeOf(list: u32, i: u32): u32 {
  placeTarget = 0;
  if (list >= lists) return i;
  if (i >= load<u32>(COUNT + ((<usize>list) << 2))) return ABSENT;
  const at = places + ((<usize>(load<u32>(FIRST + ((<usize>list) << 2)) + i)) << 3);
  placeTarget = load<u32>(at, 4);
  return load<u32>(at);
}

export let placeTarget: u32 = 0;

/** Frees the members after the part was read. */
export function membersEnd(): void {
  free(places, placesSize, WORKSPACE);
  places = 0;
  placesSize = 0;
  lists = 0;
  targets = 0;
}
