// Sets of groups that a snapshot has still to write (agg/save/walk.ts). A set knows its walk by place and id, so that
// neither has to know when the other goes or moves.
//
//   walk   0    next u32 (of the same snapshot) | id u32 | place u32 | number u32 (state/apart.ts)
//          16   group u32 (to be written next) | done u32 (groups that are written) | count u32 | each u32 (bytes of
//          memory of a group)
//          32   spec u32 (copy of what groups are saved by) | specSize u32 | held u32 (-> u32[]: pages of images) |
//          nullAt u32 (number
//               of the group without key)
//          48   isLacking u32 | end u32 (number behind the run that was left in its middle, 0 none) | images pool 32
//          88   groups pool 32 | values pool 32         of a set that was emptied meanwhile
//          152  piece u32 | item u32            of the image that is to go on there, 0: it is at its next group
import { alloc, free, WORKSPACE } from '../../mem/alloc';
import { POOL_SIZE, poolTake } from '../../mem/pool';

/** Of a set: place of its walk and 1, 0 none; its id. */
const SET_WALK: usize = 112;
const SET_WALK_ID: usize = 116;

export const WALK_NEXT: usize = 0;
const ID: usize = 4;
const PLACE: usize = 8;
export const WALK_NUMBER: usize = 12;
export const WALK_GROUP: usize = 16;
export const WALK_DONE: usize = 20;
export const WALK_COUNT: usize = 24;
export const WALK_EACH: usize = 28;
export const WALK_SPEC: usize = 32;
export const WALK_SPEC_SIZE: usize = 36;
export const WALK_HELD: usize = 40;
export const WALK_NULL: usize = 44;
export const WALK_LACKING: usize = 48;
export const WALK_END: usize = 52;
export const WALK_IMAGES: usize = 56;
export const WALK_GROUPS: usize = WALK_IMAGES + POOL_SIZE;
export const WALK_VALUES: usize = WALK_GROUPS + POOL_SIZE;
export const WALK_PIECE: usize = 152;
export const WALK_ITEM: usize = 156;
export const WALK_SIZE: u32 = 160;

const FIRST_PLACES: u32 = 16;
let places: usize = 0;
let capacity: u32 = 0;
let ids: u32 = 0;
/** No place before this one is free. */
let hint: u32 = 0;

// @ts-ignore: decorator
@inline function placeAt(i: u32): usize {
  return places + ((<usize>i) << 2);
}

/** True when a snapshot may still have to write the set. */
// @ts-ignore: decorator
@inline export function isPinned(set: usize): bool {
  return load<u32>(set, SET_WALK) != 0;
}

/** The walk that has still to write groups of the set, 0 none. */
export function walkOf(set: usize): usize {
  const place = load<u32>(set, SET_WALK);
  if (place && place <= capacity) {
    const walk = <usize>load<u32>(placeAt(place - 1));
    if (walk && load<u32>(walk, ID) == load<u32>(set, SET_WALK_ID)) return walk;
  }
  store<u32>(set, 0, SET_WALK);
  return 0;
}

/** Makes the walk the one of the set; false when memory is exhausted. */
export function pin(set: usize, walk: usize): bool {
  let i = hint;
  while (i < capacity && load<u32>(placeAt(i))) i++;
  if (i == capacity && !grow()) return false;
  store<u32>(placeAt(i), <u32>walk);
  hint = i + 1;
  store<u32>(walk, ++ids, ID);
  store<u32>(walk, i, PLACE);
  store<u32>(set, i + 1, SET_WALK);
  store<u32>(set, ids, SET_WALK_ID);
  return true;
}

/** No set has the walk any more. */
export function unpin(walk: usize): void {
  const place = load<u32>(walk, PLACE);
  if (place >= capacity || <usize>load<u32>(placeAt(place)) != walk) return;
  store<u32>(placeAt(place), 0);
  hint = min(hint, place);
}

/** The set is emptied: its pools are the walk's from now on, if there is something to be written still. */
export function pinnedLeave(set: usize, groups: usize, values: usize): void {
  const walk = walkOf(set);
  if (!walk) return;
  store<u32>(set, 0, SET_WALK);
  unpin(walk);
  poolTake(walk + WALK_GROUPS, groups);
  poolTake(walk + WALK_VALUES, values);
}

function grow(): bool {
  const wanted = max(capacity << 1, FIRST_PLACES);
  const made = alloc(wanted << 2, WORKSPACE);
  if (!made) return false;
  memory.copy(made, places, capacity << 2);
  memory.fill(made + (capacity << 2), 0, (wanted - capacity) << 2);
  free(places, capacity << 2, WORKSPACE);
  places = made;
  capacity = wanted;
  return true;
}
