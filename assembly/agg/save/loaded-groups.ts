// Sets of groups that were read and wait for their operators. The runs of walks (agg/save/walk.ts) are read one by one
// before the operators are there, those of changes into the groups that are there; the operators then take whole sets.
//
//   loaded   next u32 | number u32 | count u32 | nullAt u32 | spec u32 (as far as groups need one) | specSize u32
//           24 index u32 (-> groups u32[room], in their order; 0: none was needed) | room u32 | indexed u32
//           36 times u32 (changes that were read) | missing u32 (groups of the last ones that were not) | 0 u32
//           48 group set
import { LoadFault } from '../../gen/state-layouts';
import { isAggregate, stateSize } from '../../gen/aggregates';
import { alloc, allocZeroed, free, refusals } from '../../mem/alloc';
import { Tag, lenOf, offOf, span } from '../../mem/layout';
import { poolTake } from '../../mem/pool';
import { ABSENT, Members, placeOf } from '../../state/members';
import { readBool, readFail, readFails, readU32, readUpTo } from '../../state/reader';
import { SET_SIZE, findGroup, findNullGroup, setFree, setInit, setReserve, setTake } from '../group/group';
import { groupAdd, groupLoad, groupsAdded } from './group';
import { isSameForm, savedAggs, savedFunction, savedKeeps } from './form';
import { AGG_SIZE_OF, GROUP_HEAD, NUMBER_SIZE, aggsAt, specPrepare } from '../group/spec';
import { WindowSpec, AggregateSpec, WINDOW_SIZE_OF } from '../../gen/window-layouts';
import { GroupSet, Group } from '../group/table';

const NUMBER: usize = 4;
const COUNT: usize = 8;
const NULL_AT: usize = 12;
const SPEC: usize = 16;
const SPEC_SIZE: usize = 20;
const INDEX: usize = 24;
const ROOM: usize = 28;
const INDEXED: usize = 32;
const TIMES: usize = 36;
const MISSING: usize = 40;
const SET: usize = 48;
const LOADED_GROUPS_SIZE: u32 = 48 + SET_SIZE;
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
  while (load<u32>(list)) loadedGroupsDrop(list);
}

/** Number of the first set of a list. */
export function loadedGroupsNumber(list: usize): u32 {
  return load<u32>(<usize>load<u32>(list), NUMBER);
}

/** Removes the first set from a list and frees it. */
export function loadedGroupsDrop(list: usize): void {
  const loaded = <usize>load<u32>(list);
  store<u32>(list, load<u32>(loaded));
  setFree(changetype<GroupSet>(loaded + SET));
  free(<usize>load<u32>(loaded, INDEX), load<u32>(loaded, ROOM) << 2, 0);
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

/** Reads the run of the part under way, of groups that have changed since the set was written or are new. */
export function loadedChangesLoad(list: usize, number: u32): void {
  const loaded = <usize>load<u32>(find(list, number));
  const times = readU32();
  const isFirst = readBool();
  const n = readU32();
  if (!readFails() && (!loaded || !isNext(loaded, times, isFirst))) readFail(LoadFault.DAMAGED);
  if (readFails()) return;
  const set = changetype<GroupSet>(loaded + SET);
  if (isFirst) {
    store<u32>(loaded, readU32(), COUNT);
    store<u32>(loaded, readU32(), NULL_AT);
    store<u32>(loaded, readU32(), MISSING);
    store<u32>(loaded, times, TIMES);
    if (!readFails() && !indexAll(loaded, set)) readFail(LoadFault.MEMORY);
  }
  const missing = load<u32>(loaded, MISSING);
  if (n > missing) readFail(LoadFault.DAMAGED);
  const before = refusals;
  for (let i: u32 = 0; i < n && !readFails(); i++) changedLoad(loaded, set);
  groupsAdded();
  store<u32>(loaded, missing - n, MISSING);
  if (refusals != before) readFail(LoadFault.MEMORY);
}

/** True when changes of that number come next; or, when the run is not their first, are being read. */
function isNext(loaded: usize, times: u32, isFirst: bool): bool {
  const read = load<u32>(loaded, TIMES);
  return isFirst ? times == read + 1 && isComplete(loaded) : times == read;
}

/** True when all groups that belong to what was read are there. */
function isComplete(loaded: usize): bool {
  const count = load<u32>(loaded + SET, offsetof<GroupSet>('count'));
  return count == load<u32>(loaded, COUNT) && load<u32>(loaded, MISSING) == 0;
}

/** Notes where all groups of the set are, in their order; false when memory is exhausted. */
function indexAll(loaded: usize, set: GroupSet): bool {
  const count = set.count;
  const room = load<u32>(loaded, ROOM);
  let index = <usize>load<u32>(loaded, INDEX);
  let indexed = load<u32>(loaded, INDEXED);
  if (count > room) {
    const made = alloc(count << 2, 0);
    if (!made) return false;
    memory.copy(made, index, indexed << 2);
    free(index, room << 2, 0);
    index = made;
    store<u32>(loaded, <u32>made, INDEX);
    store<u32>(loaded, count, ROOM);
  }
  let group = indexed ? changetype<Group>(load<u32>(index + ((<usize>indexed - 1) << 2))).next : set.first;
  for (; indexed < count; indexed++, changetype<usize>((group = group.next)))
    store<u32>(index + ((<usize>indexed) << 2), changetype<u32>(group));
  store<u32>(loaded, indexed, INDEXED);
  return true;
}

/** Reads a group that is new, or the content of one that is there. */
function changedLoad(loaded: usize, set: GroupSet): void {
  const spec = changetype<WindowSpec>(load<u32>(loaded, SPEC));
  const number = readU32();
  if (number < load<u32>(loaded, INDEXED)) {
    const group = changetype<Group>(load<u32>(<usize>load<u32>(loaded, INDEX) + ((<usize>number) << 2)));
    const content = changetype<usize>(group) + GROUP_HEAD;
    memory.fill(content, 0, spec.tagsAt - NUMBER_SIZE - GROUP_HEAD);
    memory.fill(changetype<usize>(group) + spec.tagsAt, 0, spec.entrySize - spec.tagsAt);
    groupLoad(spec, set, group);
  } else if (number != set.count || number >= load<u32>(loaded, COUNT)) readFail(LoadFault.DAMAGED);
  else groupAdd(spec, set, number == load<u32>(loaded, NULL_AT));
}

/**
 * Puts the groups of that number, with so many changes, into an empty set; false when they are missing, incomplete or
 * of another form.
 */
export function loadedGroupsTake(spec: WindowSpec, set: GroupSet, number: u32, times: u32): bool {
  if (!current) return false;
  const at = find(current, number);
  const loaded = <usize>load<u32>(at);
  if (!loaded || !isComplete(loaded) || load<u32>(loaded, TIMES) != times) return false;
  const saved = changetype<WindowSpec>(load<u32>(loaded, SPEC));
  if (isSameForm) {
    if (!suits(spec, saved)) return false;
    setTake(set, changetype<GroupSet>(loaded + SET));
  } else if (!isOfForm(saved) || !takeOver(spec, set, saved, changetype<GroupSet>(loaded + SET))) return false;
  loadedGroupsDrop(at);
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
