// Saved form of a group set (state/form.ts): groups in their order with key, kept values and aggregate states; or,
// where a snapshot is being taken and they are many, the number by which they are found among what is saved apart
// (agg/save/walk.ts).
import { lenOf, offOf } from '../../mem/layout';
import { LoadFault } from '../../gen/state-layouts';
import { readBool, readBytes, readFail, readFails, readU32, readU64, readUpTo } from '../../state/reader';
import { writeBool, writeBytes, writeU32, writeU64 } from '../../state/writer';
import { GROUP_KEY, GROUP_KEY_LEN, SET_ERROR, SET_ERROR_LEN, SET_VALUES, groupNumber, newGroup } from '../group/group';
import { GROUP_NEXT, SET_COUNT, SET_FIRST, SET_NULL_GROUP } from '../group/table';
import { groupAdd, groupLoad, groupSave, groupsAdded } from './group';
import { looseTake } from './loose';
import { walkTake } from './walk';

/** In place of a count of groups: their number among what is saved apart follows. */
const APART: u64 = 1 << 32;
/** Of groups without one. */
const NO_KEY: usize = memory.data(16, 16);

/** Saves all at once. */
export function setSave(spec: usize, set: usize): void {
  errorSave(set);
  const count = load<u32>(set, SET_COUNT);
  writeU32(count);
  // Its place among the groups; the count where there is none.
  const keyless = <usize>load<u32>(set, SET_NULL_GROUP);
  let place = keyless ? groupNumber(spec, keyless) : count;
  writeU32(place);
  for (let group = <usize>load<u32>(set, SET_FIRST); group; group = <usize>load<u32>(group, GROUP_NEXT)) {
    if (place--) writeBytes(<usize>load<u32>(group, GROUP_KEY), load<u32>(group, GROUP_KEY_LEN));
    groupSave(spec, group);
  }
}

/**
 * As `setSave`, but many groups are left to the snapshot that is being taken, if there is one: only rows may change
 * them meanwhile.
 */
export function setLeave(spec: usize, set: usize): void {
  const number = walkTake(spec, set);
  if (number < 0) {
    setSave(spec, set);
    return;
  }
  errorSave(set);
  writeU64(APART);
  writeU32(<u32>number);
}

function errorSave(set: usize): void {
  const error = <usize>load<u32>(set, SET_ERROR);
  writeBool(error != 0);
  if (error) writeBytes(error, load<u32>(set, SET_ERROR_LEN));
}

/** Fills an empty set; see the reader for failures. */
export function setLoad(spec: usize, set: usize): void {
  if (readBool()) {
    const reason = readBytes(set + SET_VALUES);
    store<u32>(set, <u32>offOf(reason), SET_ERROR);
    store<u32>(set, lenOf(reason), SET_ERROR_LEN);
  }
  const first = readU64();
  if (first == APART) {
    const number = readU32();
    if (!readFails() && !looseTake(spec, set, number)) readFail(LoadFault.DAMAGED);
    return;
  }
  if (first > u32.MAX_VALUE) readFail(LoadFault.DAMAGED);
  const count = <u32>first;
  let place = readU32();
  for (let i: u32 = 0; i < count && !readFails(); i++) groupAdd(spec, set, place-- == 0);
  groupsAdded();
}

/**
 * Fills an empty set with at most so many groups that are found by their place alone, and returns how many they are.
 */
export function groupsLoad(spec: usize, set: usize, most: u32): u32 {
  const n = readUpTo(most);
  for (let i: u32 = 0; i < n && !readFails(); i++) {
    const group = newGroup(spec, set, 0, NO_KEY, 0);
    if (group) groupLoad(spec, set, group);
    else readFail(LoadFault.MEMORY);
  }
  return readFails() ? 0 : n;
}
