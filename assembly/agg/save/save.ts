// Saved form of a group set (state/form.ts): groups in their order with key, kept values and aggregate states. While a
// snapshot is being taken, many groups are saved as a number instead, under which the snapshot writes them later
// (agg/save/walk.ts).
import { lenOf, offOf } from '../../mem/layout';
import { LoadFault } from '../../gen/state-layouts';
import { readBool, readBytes, readFail, readFails, readU32, readU64, readUpTo } from '../../state/reader';
import { writeBool, writeBytes, writeU32, writeU64 } from '../../state/writer';
import { groupNumber, newGroup } from '../group/group';
import { groupAdd, groupLoad, groupSave, groupsAdded } from './group';
import { loadedGroupsTake } from './loaded-groups';
import { takenTimes, walkTake } from './walk';
import { WindowSpec } from '../../gen/window-layouts';
import { GroupSet } from '../group/table';

/** Stands for a count of groups: the number of a set that the snapshot writes follows. */
const APART: u64 = 1 << 32;
/** As APART; then the number of its changes. */
const APART_CHANGED: u64 = 1 << 33;
/** Stands for the key of groups without one. */
const NO_KEY: usize = memory.data(16, 16);

/** Saves the whole set at once. */
export function setSave(spec: WindowSpec, set: GroupSet): void {
  errorSave(set);
  const count = set.count;
  writeU32(count);
  // Place of the group without key; the count where there is none.
  const keyless = set.nullGroup;
  let place = keyless ? groupNumber(spec, keyless) : count;
  writeU32(place);
  for (let group = set.first; group; group = group.next) {
    if (place--) writeBytes(group.key, group.keyLen);
    groupSave(spec, group);
  }
}

/**
 * As `setSave`, but leaves many groups to a snapshot that is being taken; only rows may change them until it is
 * written.
 */
export function setLeave(spec: WindowSpec, set: GroupSet): void {
  const number = walkTake(spec, set);
  if (number < 0) {
    setSave(spec, set);
    return;
  }
  errorSave(set);
  writeU64(takenTimes ? APART_CHANGED : APART);
  writeU32(<u32>number);
  if (takenTimes) writeU32(takenTimes);
}

function errorSave(set: GroupSet): void {
  const error = <usize>set.error;
  writeBool(error != 0);
  if (error) writeBytes(error, set.errorLen);
}

/** Fills an empty set with saved groups; failures are noted in the reader. */
export function setLoad(spec: WindowSpec, set: GroupSet): void {
  if (readBool()) {
    const reason = readBytes(set.values);
    set.error = <u32>offOf(reason);
    set.errorLen = lenOf(reason);
  }
  const first = readU64();
  if (first == APART || first == APART_CHANGED) {
    const number = readU32();
    const times = first == APART ? 0 : readU32();
    if (!readFails() && !loadedGroupsTake(spec, set, number, times)) readFail(LoadFault.DAMAGED);
    return;
  }
  if (first > u32.MAX_VALUE) readFail(LoadFault.DAMAGED);
  const count = <u32>first;
  let place = readU32();
  for (let i: u32 = 0; i < count && !readFails(); i++) groupAdd(spec, set, place-- == 0);
  groupsAdded();
}

/** Fills an empty set with at most `most` groups, which are found by their place alone. Returns their number. */
export function groupsLoad(spec: WindowSpec, set: GroupSet, most: u32): u32 {
  const n = readUpTo(most);
  for (let i: u32 = 0; i < n && !readFails(); i++) {
    const group = newGroup(spec, set, 0, NO_KEY, 0);
    if (group) groupLoad(spec, set, group);
    else readFail(LoadFault.MEMORY);
  }
  return readFails() ? 0 : n;
}
