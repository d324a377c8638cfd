// Saved form of a group: its kept values, then the states of its aggregates.
//
// A state begins with a value, which is the reason of an aggregate that failed. The rest depends on its form
// (agg/functions/forms.ts).
import { stateLoad, stateSave } from '../gen/forms';
import { LoadFault } from '../../gen/state-layouts';
import { Tag, lenOf, offOf, span } from '../../mem/layout';
import { Pool, poolFree, poolInit, poolReset } from '../../mem/pool';
import { SavedTag } from '../../state/form';
import { ABSENT, Members, placeOf } from '../../state/members';
import { readBytes, readFail, readFails, readValue, valueRead } from '../../state/reader';
import { writeU8, writeValue } from '../../state/writer';
import { findGroup, findNullGroup, isNew } from '../group/group';
import { isSameForm, savedAggs, savedFunction, savedKeeps } from './form';
import { AGG_SIZE_OF, GROUP_HEAD, aggsAt } from '../group/spec';
import { WindowSpec, AggregateSpec } from '../../gen/window-layouts';
import { GroupSet, Group } from '../group/table';

/** Pool for saved keys until they are in a set. */
const KEYS: Pool = changetype<Pool>(memory.data(32, 16));
let holdsKeys: bool = false;

/** Saves the content of a group, without its key. */
export function groupSave(spec: WindowSpec, group: Group): void {
  const keeps = spec.keeps;
  let tagAt = changetype<usize>(group) + spec.tagsAt;
  const key = group.key;
  for (let k: u32 = 0; k < keeps; k++, tagAt++) {
    const tag = load<u8>(tagAt);
    const payload = load<u64>(changetype<usize>(group) + GROUP_HEAD + ((<usize>k) << 3));
    if (tag == Tag.STR && offOf(payload) == key) writeU8(SavedTag.ELSEWHERE);
    else writeValue(tag, payload);
  }
  const aggs = spec.aggs;
  let agg = aggsAt(spec);
  for (let a: u32 = 0; a < aggs; a++, agg += AGG_SIZE_OF, tagAt++) {
    const state = changetype<usize>(group) + load<u32>(agg, offsetof<AggregateSpec>('state'));
    const tag = load<u8>(tagAt);
    if (tag == Tag.ERROR) writeValue(tag, load<u64>(state));
    else stateSave(load<u16>(agg, offsetof<AggregateSpec>('fn')), state, tag);
  }
}

/** Fills a newly made group with saved content. */
export function groupLoad(spec: WindowSpec, set: GroupSet, group: Group): void {
  if (!isSameForm) {
    groupTake(spec, set, group);
    return;
  }
  const keeps = spec.keeps;
  let tagAt = changetype<usize>(group) + spec.tagsAt;
  for (let k: u32 = 0; k < keeps; k++, tagAt++) keptRead(set, group, k, tagAt);
  const aggs = spec.aggs;
  let agg = aggsAt(spec);
  for (let a: u32 = 0; a < aggs; a++, agg += AGG_SIZE_OF, tagAt++) {
    stateRead(
      load<u16>(agg, offsetof<AggregateSpec>('fn')),
      set.values,
      changetype<usize>(group) + load<u32>(agg, offsetof<AggregateSpec>('state')),
      tagAt,
    );
  }
}

/** Room for the state, and the tag, of an aggregate that the node no longer has. */
const PASSED: usize = memory.data(128, 16);
const PASSED_TAG: usize = memory.data(8, 8);

/** As `groupLoad` where groups now have other values or aggregates. */
function groupTake(spec: WindowSpec, set: GroupSet, group: Group): void {
  const tagsAt = changetype<usize>(group) + spec.tagsAt;
  for (let k: u32 = 0; k < savedKeeps && !readFails(); k++) {
    const place = placeOf(Members.KEPT, k);
    if (place == ABSENT) readValue(set.values);
    else keptRead(set, group, place, tagsAt + place);
  }
  const ownKeeps = spec.keeps;
  for (let a: u32 = 0; a < savedAggs && !readFails(); a++) {
    const place = placeOf(Members.AGGREGATES, a);
    if (place == ABSENT) stateRead(savedFunction(a), set.values, PASSED, PASSED_TAG);
    else {
      const state =
        changetype<usize>(group) + load<u32>(aggsAt(spec) + place * AGG_SIZE_OF, offsetof<AggregateSpec>('state'));
      stateRead(savedFunction(a), set.values, state, tagsAt + ownKeeps + place);
    }
  }
}

/** Reads the kept value `k` of a group. */
function keptRead(set: GroupSet, group: Group, k: u32, tagAt: usize): void {
  let tag = readValue(set.values);
  let payload = valueRead;
  if (tag == SavedTag.ELSEWHERE) {
    tag = Tag.STR;
    payload = span(group.key, group.keyLen);
  }
  store<u8>(tagAt, tag);
  store<u64>(changetype<usize>(group) + GROUP_HEAD + ((<usize>k) << 3), payload);
}

function stateRead(fn: u32, pool: Pool, state: usize, tagAt: usize): void {
  const tag = readValue(pool);
  if (readFails()) return;
  if (tag > Tag.ERROR) {
    readFail(LoadFault.DAMAGED);
    return;
  }
  if (tag == Tag.ERROR) store<u64>(state, valueRead);
  else stateLoad(fn, pool, state, tag, valueRead);
  store<u8>(tagAt, tag);
}

/** Adds a saved group, one without a key where `isKeyless`; `groupsAdded` is called after the last group. */
export function groupAdd(spec: WindowSpec, set: GroupSet, isKeyless: bool): void {
  const group = isKeyless ? findNullGroup(spec, set) : keyedGroup(spec, set);
  if (!group) readFail(LoadFault.MEMORY);
  else if (!isNew) readFail(LoadFault.DAMAGED);
  else groupLoad(spec, set, group);
}

function keyedGroup(spec: WindowSpec, set: GroupSet): Group {
  if (holdsKeys) poolReset(KEYS);
  else poolInit(KEYS, 128, 0);
  holdsKeys = true;
  const key = readBytes(KEYS);
  return key ? findGroup(spec, set, offOf(key), lenOf(key)) : changetype<Group>(0);
}

/** Frees the memory that adding groups has needed. */
export function groupsAdded(): void {
  if (holdsKeys) poolFree(KEYS);
  holdsKeys = false;
}
