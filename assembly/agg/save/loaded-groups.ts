// Sets of groups that were read and wait for their operators. The runs of walks (agg/save/walk.ts) are read one by one
// before the operators are there; the operators then take whole sets.
//
//   loaded   next u32 | number u32 | count u32 | nullAt u32 | spec u32 (as far as groups need one) | specSize u32
//           24 0 u64 | 32 group set
import { LoadFault } from '../../gen/state-layouts';
import { isAggregate, stateSize } from '../../gen/aggregates';
import { allocZeroed, free, refusals } from '../../mem/alloc';
import { Tag, lenOf, offOf, span } from '../../mem/layout';
import { poolTake } from '../../mem/pool';
import { ABSENT, Members, placeOf } from '../../state/members';
import { readFail, readFails, readU32, readUpTo } from '../../state/reader';
import { SET_SIZE, findGroup, findNullGroup, setFree, setInit, setReserve, setTake } from '../group/group';
import { groupAdd, groupsAdded } from './group';
import { isSameForm, savedAggs, savedFunction, savedKeeps } from './form';
import { AGG_SIZE_OF, GROUP_HEAD, aggsAt, specPrepare } from '../group/spec';
import { WindowSpec, AggregateSpec, WINDOW_SIZE_OF } from '../../gen/window-layouts';
import { GroupSet, Group } from '../group/table';

const NUMBER: usize = 4;
const COUNT: usize = 8;
const NULL_AT: usize = 12;
const SPEC: usize = 16;
const SPEC_SIZE: usize = 20;
const SET: usize = 32;
const LOADED_GROUPS_SIZE: u32 = 32 + SET_SIZE;
/** Kept values, or aggregates, of a group at most. */
const MOST_VALUES: u32 = 65535;

/** Address of the list that sets are taken from; 0 none. */
let current: usize = 0;

/** Sets the list, by its address, from which loaded sets take their groups; 0 none. */
export function loadedGroupsUse(list: usize): void {
  current = list;
}

/** Frees the sets of a list that were not taken. */
export function loadedGroupsFree(list: usize): void {
  while (load<u32>(list)) drop(list);
}

/** Removes the first set from a list and frees it. */
function drop(list: usize): void {
  const loaded = <usize>load<u32>(list);
  store<u32>(list, load<u32>(loaded));
  setFree(changetype<GroupSet>(loaded + SET));
  free(<usize>load<u32>(loaded, SPEC), load<u32>(loaded, SPEC_SIZE), 0);
  free(loaded, LOADED_GROUPS_SIZE, 0);
}

/** Address of the pointer to the set of that number in a list; the pointer is 0 when there is none. */
function find(list: usize, number: u32): usize {
  let at = list;
  while (load<u32>(at) && load<u32>(<usize>load<u32>(at), NUMBER) != number) at = <usize>load<u32>(at);
  return at;
}

/** Reads the run of the part under way into its set in the list. The first run makes the set, charged to `acct`. */
export function loadedGroupsLoad(list: usize, number: u32, acct: usize): void {
  const first = readU32();
  const n = readU32();
  const at = find(list, number);
  if (!readFails() && (first == 0) != (load<u32>(at) == 0)) readFail(LoadFault.DAMAGED);
  if (!readFails() && first == 0) loadedGroupsNew(at, number, acct);
  if (readFails()) return;
  const loaded = <usize>load<u32>(at);
  const count = load<u32>(loaded, COUNT);
  const spec = changetype<WindowSpec>(load<u32>(loaded, SPEC));
  const nullAt = load<u32>(loaded, NULL_AT);
  if (load<u32>(loaded + SET, offsetof<GroupSet>('count')) != first || n > count - first) readFail(LoadFault.DAMAGED);
  const before = refusals;
  for (let i: u32 = 0; i < n && !readFails(); i++)
    groupAdd(spec, changetype<GroupSet>(loaded + SET), first + i == nullAt);
  groupsAdded();
  if (refusals != before) readFail(LoadFault.MEMORY);
}

/** Reads the head of a set and makes the set. */
function loadedGroupsNew(at: usize, number: u32, acct: usize): void {
  const count = readU32();
  const nullAt = readU32();
  const keeps = readUpTo(MOST_VALUES);
  const aggs = readUpTo(MOST_VALUES);
  if (readFails()) return;
  // The inputs and keys of a spec are not needed for this.
  const specSize = WINDOW_SIZE_OF + (keeps << 1) + 4 + aggs * AGG_SIZE_OF;
  const spec = changetype<WindowSpec>(allocZeroed(specSize, 0));
  const loaded = spec ? allocZeroed(LOADED_GROUPS_SIZE, 0) : 0;
  if (!loaded) {
    free(changetype<usize>(spec), specSize, 0);
    readFail(LoadFault.MEMORY);
    return;
  }
  store<u32>(loaded, number, NUMBER);
  store<u32>(loaded, count, COUNT);
  store<u32>(loaded, nullAt, NULL_AT);
  store<u32>(loaded, changetype<u32>(spec), SPEC);
  store<u32>(loaded, specSize, SPEC_SIZE);
  setInit(changetype<GroupSet>(loaded + SET), acct);
  store<u32>(at, <u32>loaded);
  spec.keeps = keeps;
  spec.aggs = aggs;
  let agg = aggsAt(spec);
  for (let a: u32 = 0; a < aggs; a++, agg += AGG_SIZE_OF) {
    const fn = readUpTo(u16.MAX_VALUE);
    if (!isAggregate(fn)) readFail(LoadFault.DAMAGED);
    store<u16>(agg, <u16>fn, offsetof<AggregateSpec>('fn'));
  }
  if (readFails()) return;
  specPrepare(spec);
}

/** Puts the groups of that number into an empty set; false when they are missing, incomplete or of another form. */
export function loadedGroupsTake(spec: WindowSpec, set: GroupSet, number: u32): bool {
  if (!current) return false;
  const at = find(current, number);
  const loaded = <usize>load<u32>(at);
  if (!loaded || load<u32>(loaded + SET, offsetof<GroupSet>('count')) != load<u32>(loaded, COUNT)) return false;
  const saved = changetype<WindowSpec>(load<u32>(loaded, SPEC));
  if (isSameForm) {
    if (!suits(spec, saved)) return false;
    setTake(set, changetype<GroupSet>(loaded + SET));
  } else if (!isOfForm(saved) || !takeOver(spec, set, saved, changetype<GroupSet>(loaded + SET))) return false;
  drop(at);
  return true;
}

/** True when the saved groups have the form of the part under way. */
function isOfForm(saved: WindowSpec): bool {
  if (saved.keeps != savedKeeps || saved.aggs != savedAggs) return false;
  let agg = aggsAt(saved);
  for (let a: u32 = 0; a < savedAggs; a++, agg += AGG_SIZE_OF)
    if (load<u16>(agg, offsetof<AggregateSpec>('fn')) != savedFunction(a)) return false;
  return true;
}

/**
 * Makes groups of the spec from those of another set, with the members that both have; false when memory is exhausted.
 */
function takeOver(spec: WindowSpec, set: GroupSet, saved: WindowSpec, from: GroupSet): bool {
  const before = refusals;
  const nullGroup = from.nullGroup;
  setReserve(set, from.count);
  for (let old = from.first; old; old = old.next) {
    const key = old.key;
    const group = old == nullGroup ? findNullGroup(spec, set) : findGroup(spec, set, key, old.keyLen);
    if (!group) return false;
    copyGroup(spec, group, saved, old);
  }
  // The values refer to this memory.
  poolTake(set.values, from.values);
  return refusals == before;
}

function copyGroup(spec: WindowSpec, group: Group, saved: WindowSpec, old: Group): void {
  const tags = changetype<usize>(group) + spec.tagsAt;
  const oldTags = changetype<usize>(old) + saved.tagsAt;
  const key = old.key;
  for (let k: u32 = 0; k < savedKeeps; k++) {
    const place = placeOf(Members.KEPT, k);
    if (place == ABSENT) continue;
    const tag = load<u8>(oldTags + k);
    const payload = load<u64>(changetype<usize>(old) + GROUP_HEAD + ((<usize>k) << 3));
    const isKey = tag == Tag.STR && offOf(payload) == key;
    store<u8>(tags + place, tag);
    store<u64>(
      changetype<usize>(group) + GROUP_HEAD + ((<usize>place) << 3),
      isKey ? span(group.key, lenOf(payload)) : payload,
    );
  }
  const ownKeeps = spec.keeps;
  let agg = aggsAt(saved);
  for (let a: u32 = 0; a < savedAggs; a++, agg += AGG_SIZE_OF) {
    const place = placeOf(Members.AGGREGATES, a);
    if (place == ABSENT) continue;
    const to =
      changetype<usize>(group) + load<u32>(aggsAt(spec) + place * AGG_SIZE_OF, offsetof<AggregateSpec>('state'));
    memory.copy(
      to,
      changetype<usize>(old) + load<u32>(agg, offsetof<AggregateSpec>('state')),
      stateSize(savedFunction(a)),
    );
    store<u8>(tags + ownKeeps + place, load<u8>(oldTags + savedKeeps + a));
  }
}

/** True when groups of both specs have the same layout. */
function suits(spec: WindowSpec, other: WindowSpec): bool {
  const aggs = spec.aggs;
  const isSame =
    spec.keeps == other.keeps && aggs == other.aggs && spec.tagsAt == other.tagsAt && spec.entrySize == other.entrySize;
  if (!isSame) return false;
  let a = aggsAt(spec);
  let b = aggsAt(other);
  for (let i: u32 = 0; i < aggs; i++, a += AGG_SIZE_OF, b += AGG_SIZE_OF) {
    if (
      load<u16>(a, offsetof<AggregateSpec>('fn')) != load<u16>(b, offsetof<AggregateSpec>('fn')) ||
      load<u32>(a, offsetof<AggregateSpec>('state')) != load<u32>(b, offsetof<AggregateSpec>('state'))
    )
      return false;
  }
  return true;
}
