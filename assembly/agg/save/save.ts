// Saved form of a group set (state/form.ts): groups in their order with key, kept values and aggregate states; or,
// where a snapshot is being taken and they are many, the number by which they are found among what is saved apart
// (agg/save/walk.ts).
import { lenOf, offOf } from '../../mem/layout';
import { LoadFault } from '../../gen/state-layouts';
import { readBool, readBytes, readFail, readFails, readU32, readU64, readUpTo } from '../../state/reader';
import { writeBool, writeBytes, writeU32, writeU64 } from '../../state/writer';
import { groupNumber, newGroup } from '../group/group';
import { groupAdd, groupLoad, groupSave, groupsAdded } from './group';
import { loadedGroupsTake } from './loaded-groups';
import { walkTake } from './walk';
import { WindowSpec } from '../../gen/window-layouts';
import { GroupSet } from '../group/table';

/** In place of a count of groups: their number among what is saved apart follows. */
const APART: u64 = 1 << 32;
/** Of groups without one. */
const NO_KEY: usize = memory.data(16, 16);

/** Saves all at once. */
export function setSave(spec: WindowSpec, set: GroupSet): void {
  errorSave(set);
  const count = set.count;
  writeU32(count);
  // Its place among the groups; the count where there is none.
  const keyless = set.nullGroup;
  let place = keyless ? groupNumber(spec, keyless) : count;
  writeU32(place);
  for (let group = set.first; group; group = group.next) {
    if (place--) writeBytes(group.key, group.keyLen);
    groupSave(spec, group);
  }
}

/**
 * As `setSave`, but many groups are left to the snapshot that is being taken, if there is one: only rows may change
 * them meanwhile.
 */
export function setLeave(spec: WindowSpec, set: GroupSet): void {
  const number = walkTake(spec, set);
  if (number < 0) {
    setSave(spec, set);
    return;
  }
  errorSave(set);
  writeU64(APART);
  writeU32(<u32>number);
}

function errorSave(set: GroupSet): void {
  const error = <usize>set.error;
  writeBool(error != 0);
  if (error) writeBytes(error, set.errorLen);
}

/** Fills an empty set; see the reader for failures. */
export function setLoad(spec: WindowSpec, set: GroupSet): void {
  if (readBool()) {
    const reason = readBytes(set.values);
    set.error = <u32>offOf(reason);
    set.errorLen = lenOf(reason);
  }
  const first = readU64();
  if (first == APART) {
    const number = readU32();
    if (!readFails() && !loadedGroupsTake(spec, set, number)) readFail(LoadFault.DAMAGED);
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
export function groupsLoad(spec: WindowSpec, set: GroupSet, most: u32): u32 {
  const n = readUpTo(most);
  for (let i: u32 = 0; i < n && !readFails(); i++) {
    const group = newGroup(spec, set, 0, NO_KEY, 0);
    if (group) groupLoad(spec, set, group);
    else readFail(LoadFault.MEMORY);
  }
  return readFails() ? 0 : n;
}
