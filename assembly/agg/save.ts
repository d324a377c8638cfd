// Saved form of a group set (state/form.ts): groups in their order with key, kept values and aggregate states.
//
// A state is a value first, which is the reason of an aggregate that failed; what else there is follows from its form
// (agg/aggregates.json).
import { AggForm, formOf } from '../gen/aggregates';
import { SLOT_SIZE, SLOT_TAG, Tag, lenOf, offOf, span } from '../mem/layout';
import { poolAlloc, poolFree, poolInit, poolReset } from '../mem/pool';
import { SavedTag } from '../state/form';
import { LoadFault } from '../gen/state-layouts';
import {
  readBool, readBytes, readFail, readFails, readLength, readU32, readU64, readUpTo, readValue, valueRead,
} from '../state/reader';
import { writeBool, writeBytes, writeU32, writeU64, writeU8, writeValue } from '../state/writer';
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

/** Saves the groups of a list, u32[n], which are found by their place alone. */
export function groupsSave(spec: usize, list: usize, n: u32): void {
  writeU32(n);
  for (let i: u32 = 0; i < n; i++) groupSave(spec, <usize>load<u32>(list + (<usize>i << 2)));
}

/** Fills an empty set with at most so many such groups and returns how many they are. */
export function groupsLoad(spec: usize, set: usize, most: u32): u32 {
  const n = readUpTo(most);
  for (let i: u32 = 0; i < n && !readFails(); i++) {
    const group = newGroup(spec, set, 0, KEYS, 0);
    if (group) groupLoad(spec, set, group);
    else readFail(LoadFault.MEMORY);
  }
  return readFails() ? 0 : n;
}

function groupSave(spec: usize, group: usize): void {
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
    stateSave(formOf(load<u16>(agg, AGG_FN)), group + load<u32>(agg, AGG_STATE), load<u8>(tagAt));
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
    stateLoad(formOf(load<u16>(agg, AGG_FN)), set + SET_VALUES, group + load<u32>(agg, AGG_STATE), tagAt);
  }
}

function stateSave(form: u32, state: usize, tag: u8): void {
  if (tag == Tag.ERROR) {
    writeValue(tag, load<u64>(state));
    return;
  }
  switch (form) {
    case AggForm.COUNT:
      writeValue(Tag.I64, load<u64>(state));
      break;
    case AggForm.SUM:
      writeValue(tag, load<u64>(state));
      break;
    case AggForm.AVERAGE:
      writeValue(tag, load<u64>(state));
      writeU64(load<u64>(state, 8));
      break;
    case AggForm.VALUE:
      writeValue(tag, load<u64>(state));
      writeBool(load<u32>(state, 12) != 0);
      break;
    default: {
      // The parameter, then the list.
      writeValue(tag, load<u64>(state, 16));
      writeU32(load<u32>(state, 12));
      const n = load<u32>(state, 4);
      const slots = <usize>load<u32>(state);
      writeU32(n);
      for (let i: u32 = 0; i < n; i++) writeValue(load<u8>(slots + i * SLOT_SIZE, SLOT_TAG), load<u64>(slots + i * SLOT_SIZE));
    }
  }
}

function stateLoad(form: u32, pool: usize, state: usize, tagAt: usize): void {
  const tag = readValue(pool);
  const payload = valueRead;
  if (readFails()) return;
  if (tag > Tag.ERROR) {
    readFail(LoadFault.DAMAGED);
    return;
  }
  if (tag == Tag.ERROR) {
    store<u64>(state, payload);
    store<u8>(tagAt, tag);
    return;
  }
  switch (form) {
    case AggForm.COUNT:
      // Its tag is not used.
      store<u64>(state, payload);
      return;
    case AggForm.SUM:
      store<u64>(state, payload);
      break;
    case AggForm.AVERAGE:
      store<u64>(state, payload);
      store<u64>(state, readU64(), 8);
      // It is divided by.
      if (load<i64>(state, 8) <= 0 && tag > Tag.NULL) readFail(LoadFault.DAMAGED);
      break;
    case AggForm.VALUE:
      valueLoad(state, tag, payload);
      store<u32>(state, <u32>readBool(), 12);
      break;
    default:
      store<u64>(state, payload, 16);
      listLoad(pool, state);
  }
  store<u8>(tagAt, tag);
}

/** As `storeValue` of a value that has its place in the pool. */
function valueLoad(state: usize, tag: u8, payload: u64): void {
  store<u64>(state, payload);
  store<u32>(state, tag == Tag.STR || tag == Tag.BYTES ? lenOf(payload) : 0, 8);
}

function listLoad(pool: usize, list: usize): void {
  const length = readU32();
  const n = readLength();
  if (readFails()) return;
  const size = <u64>n * SLOT_SIZE;
  const slots: usize = size > 0x7fff0000 ? 0 : poolAlloc(pool, <u32>size);
  if (!slots) {
    readFail(LoadFault.MEMORY);
    return;
  }
  for (let i: u32 = 0; i < n && !readFails(); i++) {
    const tag = readValue(pool);
    if (tag > Tag.ERROR) readFail(LoadFault.DAMAGED);
    store<u64>(slots + i * SLOT_SIZE, valueRead);
    store<u64>(slots + i * SLOT_SIZE, <u64>tag, SLOT_TAG);
  }
  if (readFails()) return;
  store<u32>(list, <u32>slots);
  store<u32>(list, n, 4);
  store<u32>(list, n, 8);
  store<u32>(list, length, 12);
}
