// Saved form of a group set (state/form.ts): groups in their order with key, kept values and aggregate states.
//
// A state is a value first, which is the reason of an aggregate that failed; what else there is follows from its form
// (agg/forms.ts).
import { stateLoad, stateSave } from '../gen/aggregate-forms';
import { Tag, lenOf, offOf, span } from '../mem/layout';
import { poolFree, poolInit, poolReset } from '../mem/pool';
import { SavedTag } from '../state/form';
import { LoadFault } from '../gen/state-layouts';
import { readBool, readBytes, readFail, readFails, readU32, readUpTo, readValue, valueRead } from '../state/reader';
import { writeBool, writeBytes, writeU32, writeU8, writeValue } from '../state/writer';
import {
  GROUP_KEY, GROUP_KEY_LEN, GROUP_NEXT, SET_COUNT, SET_ERROR, SET_ERROR_LEN, SET_FIRST, SET_NULL_GROUP, SET_VALUES, findGroup,
  findNullGroup, isNew, newGroup,
} from './group';
import { AGG_SIZE_OF, GROUP_HEAD, AGG_FN, AGG_STATE, WINDOW_AGGS, WINDOW_KEEPS, WINDOW_TAGS_AT, aggsAt } from './spec';

/** Keys on their way into the set. */
const KEYS: usize = memory.data(32, 16);

export function setSave(spec: usize, set: usize): void {
  const error = <usize>load<u32>(set, SET_ERROR);
  writeBool(error != 0);
  if (error) writeBytes(error, load<u32>(set, SET_ERROR_LEN));
  writeU32(load<u32>(set, SET_COUNT));
  // Its place among the groups; the count where there is none.
  let place: u32 = 0;
  let group = <usize>load<u32>(set, SET_FIRST);
  for (; group && group != <usize>load<u32>(set, SET_NULL_GROUP); group = <usize>load<u32>(group, GROUP_NEXT)) place++;
  writeU32(place);
  for (group = <usize>load<u32>(set, SET_FIRST); group; group = <usize>load<u32>(group, GROUP_NEXT)) {
    if (place--) writeBytes(<usize>load<u32>(group, GROUP_KEY), load<u32>(group, GROUP_KEY_LEN));
    groupSave(spec, group);
  }
}

/** Fills an empty set; see the reader for failures. */
export function setLoad(spec: usize, set: usize): void {
  if (readBool()) {
    const reason = readBytes(set + SET_VALUES);
    store<u32>(set, <u32>offOf(reason), SET_ERROR);
    store<u32>(set, lenOf(reason), SET_ERROR_LEN);
  }
  const count = readU32();
  let place = readU32();
  poolInit(KEYS, 128, 0);
  for (let i: u32 = 0; i < count && !readFails(); i++) {
    const group = place-- ? keyedGroup(spec, set) : findNullGroup(spec, set);
    if (!group) readFail(LoadFault.MEMORY);
    else if (!isNew) readFail(LoadFault.DAMAGED);
    else groupLoad(spec, set, group);
  }
  poolFree(KEYS);
}

function keyedGroup(spec: usize, set: usize): usize {
  poolReset(KEYS);
  const key = readBytes(KEYS);
  return key ? findGroup(spec, set, offOf(key), lenOf(key)) : 0;
}

/** Fills an empty set with at most so many groups that are found by their place alone, and returns how many they are. */
export function groupsLoad(spec: usize, set: usize, most: u32): u32 {
  const n = readUpTo(most);
  for (let i: u32 = 0; i < n && !readFails(); i++) {
    const group = newGroup(spec, set, 0, KEYS, 0);
    if (group) groupLoad(spec, set, group);
    else readFail(LoadFault.MEMORY);
  }
  return readFails() ? 0 : n;
}

/** Saves what a group holds, without its key. */
export function groupSave(spec: usize, group: usize): void {
  const keeps = load<u32>(spec, WINDOW_KEEPS);
  let tagAt = group + load<u32>(spec, WINDOW_TAGS_AT);
  const key = <usize>load<u32>(group, GROUP_KEY);
  for (let k: u32 = 0; k < keeps; k++, tagAt++) {
    const tag = load<u8>(tagAt);
    const payload = load<u64>(group + GROUP_HEAD + (<usize>k << 3));
    if (tag == Tag.STR && offOf(payload) == key) writeU8(SavedTag.ELSEWHERE);
    else writeValue(tag, payload);
  }
  const aggs = load<u32>(spec, WINDOW_AGGS);
  let agg = aggsAt(spec);
  for (let a: u32 = 0; a < aggs; a++, agg += AGG_SIZE_OF, tagAt++) {
    const state = group + load<u32>(agg, AGG_STATE);
    const tag = load<u8>(tagAt);
    if (tag == Tag.ERROR) writeValue(tag, load<u64>(state));
    else stateSave(load<u16>(agg, AGG_FN), state, tag);
  }
}

function groupLoad(spec: usize, set: usize, group: usize): void {
  const keeps = load<u32>(spec, WINDOW_KEEPS);
  let tagAt = group + load<u32>(spec, WINDOW_TAGS_AT);
  for (let k: u32 = 0; k < keeps; k++, tagAt++) {
    let tag = readValue(set + SET_VALUES);
    let payload = valueRead;
    if (tag == SavedTag.ELSEWHERE) {
      tag = Tag.STR;
      payload = span(<usize>load<u32>(group, GROUP_KEY), load<u32>(group, GROUP_KEY_LEN));
    }
    store<u8>(tagAt, tag);
    store<u64>(group + GROUP_HEAD + (<usize>k << 3), payload);
  }
  const aggs = load<u32>(spec, WINDOW_AGGS);
  let agg = aggsAt(spec);
  for (let a: u32 = 0; a < aggs; a++, agg += AGG_SIZE_OF, tagAt++) {
    stateRead(load<u16>(agg, AGG_FN), set + SET_VALUES, group + load<u32>(agg, AGG_STATE), tagAt);
  }
}

function stateRead(fn: u32, pool: usize, state: usize, tagAt: usize): void {
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
