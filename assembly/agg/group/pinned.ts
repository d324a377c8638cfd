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
import { Pool, POOL_SIZE, poolTake } from '../../mem/pool';
import { WindowSpec } from '../../gen/window-layouts';
import { GroupSet, Group } from './table';

/** State of writing the groups of one set for a snapshot. */
// @ts-ignore: decorator
@unmanaged
export class Walk {
  next: Walk;
  id: u32;
  place: u32;
  number: u32;
  group: Group;
  done: u32;
  count: u32;
  each: u32;
  spec: WindowSpec;
  specSize: u32;
  held: usize;
  nullAt: u32;
  isLacking: u32;
  end: u32;
  private gap56: u64;
  private gap64: u64;
  private gap72: u64;
  private gap80: u64;
  private gap88: u64;
  private gap96: u64;
  private gap104: u64;
  private gap112: u64;
  private gap120: u64;
  private gap128: u64;
  private gap136: u64;
  private gap144: u64;
  piece: usize;
  item: u32;

  get images(): Pool {
    return changetype<Pool>(changetype<usize>(this) + WALK_IMAGES);
  }

  get groups(): Pool {
    return changetype<Pool>(changetype<usize>(this) + WALK_GROUPS);
  }

  get values(): Pool {
    return changetype<Pool>(changetype<usize>(this) + WALK_VALUES);
  }
}

const WALK_IMAGES: usize = 56;
const WALK_GROUPS: usize = WALK_IMAGES + POOL_SIZE;
const WALK_VALUES: usize = WALK_GROUPS + POOL_SIZE;
export const WALK_SIZE: u32 = 160;

const FIRST_PLACES: u32 = 16;
let places: usize = 0;
let capacity: u32 = 0;
let ids: u32 = 0;
/** Number of the first place that may be free. */
let hint: u32 = 0;

// @ts-ignore: decorator
@inline function placeAt(i: u32): usize {
  return places + ((<usize>i) << 2);
}

/** True when a snapshot may still have to write the set. */
// @ts-ignore: decorator
@inline export function isPinned(set: GroupSet): bool {
  return set.walk != 0;
}

/** The walk that still has groups of the set to write; 0 none. */
export function walkOf(set: GroupSet): Walk {
  const place = set.walk;
  if (place && place <= capacity) {
    const walk = changetype<Walk>(load<u32>(placeAt(place - 1)));
    if (walk && walk.id == set.walkId) return walk;
  }
  set.walk = 0;
  return changetype<Walk>(0);
}

/** Connects the walk with the set; false when memory is exhausted. */
export function pin(set: GroupSet, walk: Walk): bool {
  let i = hint;
  while (i < capacity && load<u32>(placeAt(i))) i++;
  if (i == capacity && !grow()) return false;
  store<u32>(placeAt(i), changetype<u32>(walk));
  hint = i + 1;
  walk.id = ++ids;
  walk.place = i;
  set.walk = i + 1;
  set.walkId = ids;
  return true;
}

/** Frees the place of the walk, so that no set has it any more. */
export function unpin(walk: Walk): void {
  const place = walk.place;
  if (place >= capacity || <usize>load<u32>(placeAt(place)) != changetype<usize>(walk)) return;
  store<u32>(placeAt(place), 0);
  hint = min(hint, place);
}

/** Hands the pools of a set that is emptied to its walk, if the walk still has groups to write. */
export function pinnedLeave(set: GroupSet, groups: Pool, values: Pool): void {
  const walk = walkOf(set);
  if (!walk) return;
  set.walk = 0;
  unpin(walk);
  poolTake(walk.groups, groups);
  poolTake(walk.values, values);
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
