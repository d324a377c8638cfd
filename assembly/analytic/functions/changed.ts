// Changes since the row before: had_changed(ignoreNull, x …), changed_col(ignoreNull, x) and the columns of
// changed_cols. Before the first row a value is null.
import { MEMBER_KEY_LEN, MEMBER_KEY_OFF, MEMBER_SIZE, MEMBER_TAG, Tag, lenOf, offOf, span } from '../../mem/layout';
import * as ctx from '../../batch/context';
import { Pool, poolAlloc } from '../../mem/pool';
import {
  argIsConst,
  argTag,
  argUniform,
  argVal,
  argVals,
  isTaken,
  keepsBatch,
  put,
  putUniform,
  putVal,
  rowAt,
  selLen,
  setOut,
  stateOf,
  takesAll,
  whenFails,
} from '../run';
import { KEPT_SIZE, keep, keptTag, keptVal } from '../../partitions/slot';
import { bytesCompare, textsEqual } from '../../value/bytes';
import { sameValues } from '../../value/same';
import { argumentFails, flagFails } from './fail';
import { FunctionSpec } from '../../gen/analytic-layouts';

/** True when the value differs from the one in the slot, which then keeps the new value. */
// @ts-ignore: decorator
@inline function changes(slot: Pool, i: u32, row: u32): bool {
  const tag = argTag(i, row);
  const payload = argVal(i, row);
  if (tag <= Tag.NULL && argVal(0, row) != 0) return false;
  if (sameValues(tag, payload, keptTag(slot), keptVal(slot))) return false;
  if (keep(slot, tag, payload)) keepsBatch(row);
  return true;
}

export function hadChangedRows(fn: FunctionSpec): void {
  const args = fn.args;
  if (args == 2 && takesAll() && argUniform(0) == Tag.BOOL && argUniform(1) == Tag.STR && !argIsConst(1)) {
    hadChangedTexts();
    return;
  }
  for (let i: u32 = 0; i < selLen; i++) {
    const row = rowAt(i);
    if (flagFails('had_changed', 0, row) || anyFails(args, row) || whenFails(row)) continue;
    let changed = false;
    if (isTaken(row)) {
      const state = stateOf(row);
      for (let k: u32 = 1; k < args; k++) {
        if (changes(changetype<Pool>(changetype<usize>(state) + (k - 1) * KEPT_SIZE), k, row)) changed = true;
      }
    }
    put(row, Tag.BOOL, <u64>changed);
  }
}

/** As `hadChangedRows` for a column of texts. */
function hadChangedTexts(): void {
  const vals = argVals(1);
  putUniform(Tag.BOOL);
  for (let i: u32 = 0; i < selLen; i++) {
    const row = rowAt(i);
    const text = load<u64>(vals + ((<usize>row) << 3));
    const slot = stateOf(row);
    const had = keptVal(slot);
    const isSame =
      keptTag(slot) == Tag.STR && lenOf(had) == lenOf(text) && textsEqual(offOf(had), offOf(text), lenOf(text));
    putVal(row, <u64>!isSame);
    if (isSame) continue;
    keep(slot, Tag.STR, text);
    keepsBatch(row);
  }
}

function anyFails(args: u32, row: u32): bool {
  for (let k: u32 = 1; k < args; k++) if (argumentFails(k, row)) return true;
  return false;
}

/** changed_col; `otherwise` is the tag of the result where nothing changed, NULL or MISSING. */
export function changedColRows(name: string, otherwise: u8): void {
  for (let i: u32 = 0; i < selLen; i++) {
    const row = rowAt(i);
    if (flagFails(name, 0, row) || argumentFails(1, row) || whenFails(row)) continue;
    if (!isTaken(row) || !changes(stateOf(row), 1, row)) put(row, otherwise, 0);
    else if (argTag(1, row) == Tag.MISSING) put(row, Tag.NULL, 0);
    else put(row, argTag(1, row), argVal(1, row));
  }
}

/**
 * Changed members of an object: a BOOLEAN whether there are any, or with `isNamed` an object of them. The slot has the
 * newest value of each member.
 */
export function changedMembersRows(isNamed: bool): void {
  for (let i: u32 = 0; i < selLen; i++) {
    const row = rowAt(i);
    if (flagFails(isNamed ? 'changed_cols' : 'had_changed', 0, row) || argumentFails(1, row) || whenFails(row))
      continue;
    if (argTag(1, row) == Tag.OBJECT && isTaken(row)) compareMembers(row, isNamed);
    else if (isNamed) put(row, Tag.OBJECT, 0);
    else put(row, Tag.BOOL, 0);
  }
}

/** Compares the members of both objects, which are in the order of their names. */
function compareMembers(row: u32, isNamed: bool): void {
  const state = stateOf(row);
  const ignoresNull = argVal(0, row) != 0;
  const had = keptTag(state) == Tag.OBJECT ? keptVal(state) : 0;
  const given = argVal(1, row);
  const room = poolAlloc(ctx.scratch, (lenOf(had) + lenOf(given)) * MEMBER_SIZE);
  const changed = poolAlloc(ctx.scratch, lenOf(given) * MEMBER_SIZE);
  if (!room || !changed) {
    setOut();
    return;
  }
  let to = room;
  let out = changed;
  let a = offOf(had);
  let b = offOf(given);
  const aEnd = a + lenOf(had) * MEMBER_SIZE;
  const bEnd = b + lenOf(given) * MEMBER_SIZE;
  while (a < aEnd || b < bEnd) {
    const order = a == aEnd ? 1 : b == bEnd ? -1 : compareNames(a, b);
    let isNew = order >= 0 && !(ignoresNull && load<u8>(b, MEMBER_TAG) <= Tag.NULL);
    if (isNew && order == 0) {
      isNew = !sameValues(load<u8>(a, MEMBER_TAG), load<u64>(a), load<u8>(b, MEMBER_TAG), load<u64>(b));
    } else if (isNew) isNew = load<u8>(b, MEMBER_TAG) > Tag.NULL;
    if (isNew) {
      memory.copy(out, b, MEMBER_SIZE);
      out += MEMBER_SIZE;
      memory.copy(to, b, MEMBER_SIZE);
      to += MEMBER_SIZE;
    } else if (order <= 0) {
      memory.copy(to, a, MEMBER_SIZE);
      to += MEMBER_SIZE;
    }
    if (order <= 0) a += MEMBER_SIZE;
    if (order >= 0) b += MEMBER_SIZE;
  }
  if (out != changed && keep(state, Tag.OBJECT, span(room, <u32>(to - room) / MEMBER_SIZE))) keepsBatch(row);
  if (!isNamed) {
    put(row, Tag.BOOL, <u64>(out != changed));
    return;
  }
  if (lenOf(argVal(2, row))) {
    for (let at = changed; at < out; at += MEMBER_SIZE) nameMember(at, argVal(2, row));
  }
  put(row, Tag.OBJECT, span(changed, <u32>(out - changed) / MEMBER_SIZE));
}

/** Puts the prefix before the name of a member. */
function nameMember(member: usize, prefix: u64): void {
  const len = load<u32>(member, MEMBER_KEY_LEN);
  const to = poolAlloc(ctx.scratch, lenOf(prefix) + len);
  if (!to) {
    setOut();
    return;
  }
  memory.copy(to, offOf(prefix), lenOf(prefix));
  memory.copy(to + lenOf(prefix), <usize>load<u32>(member, MEMBER_KEY_OFF), len);
  store<u32>(member, <u32>to, MEMBER_KEY_OFF);
  store<u32>(member, lenOf(prefix) + len, MEMBER_KEY_LEN);
}

function compareNames(a: usize, b: usize): i32 {
  return bytesCompare(
    <usize>load<u32>(a, MEMBER_KEY_OFF),
    load<u32>(a, MEMBER_KEY_LEN),
    <usize>load<u32>(b, MEMBER_KEY_OFF),
    load<u32>(b, MEMBER_KEY_LEN),
  );
}
