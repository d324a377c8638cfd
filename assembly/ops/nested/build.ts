// Making arrays and objects.
import {
  MEMBER_KEY_LEN,
  MEMBER_KEY_OFF,
  MEMBER_SIZE,
  MEMBER_TAG,
  SLOT_SIZE,
  SLOT_TAG,
  Tag,
  isNull,
  lenOf,
  offOf,
  span,
} from '../../mem/layout';
import { bytesCompare } from '../../value/bytes';
import { valueError } from '../../value/error';
import { charge, resultRoom, valueLength, valueLimit } from '../result';
import { argCount, argIsConst, argTag, argVal, give, map2, mapA, mapArgsStrict } from '../row-loops';
import { Operation } from '../../gen/ops-layouts';

export function nestedArrayOf(op: Operation): void {
  mapArgsStrict(op, (): void => {
    const to = resultRoom('array', <u64>argCount * SLOT_SIZE);
    if (!to || !chargeArgs('array', 1)) return;
    for (let i: u32 = 0; i < argCount; i++) {
      const slot = to + i * SLOT_SIZE;
      const tag = argTag(i);
      store<u64>(slot, argVal(i));
      store<u64>(slot, <u64>max(tag, Tag.NULL), SLOT_TAG);
    }
    give(Tag.ARRAY, span(to, argCount));
  });
}

// ---- objects -------------------------------------------------------------------------------------------------

/** Counts the values that arguments 0, by, 2 × by … (the last of each group) refer to; see `charge`. */
function chargeArgs(name: string, by: u32): bool {
  let len: u64 = 0;
  for (let i = by - 1; i < argCount && len <= valueLimit(); i += by) {
    const tag = argTag(i);
    if (tag >= Tag.STR) len += valueLength(tag, argVal(i), valueLimit() - len);
  }
  return len == 0 || charge(name, len);
}

let members: usize = 0;
let count: u32 = 0;

/** Position of the key among the members, or where it belongs; `found` tells which. */
let found: bool = false;
function place(keyOff: usize, keyLen: u32): u32 {
  let low: u32 = 0;
  let high = count;
  found = false;
  while (low < high) {
    const mid = (low + high) >> 1;
    const member = members + mid * MEMBER_SIZE;
    const order = bytesCompare(
      <usize>load<u32>(member, MEMBER_KEY_OFF),
      load<u32>(member, MEMBER_KEY_LEN),
      keyOff,
      keyLen,
    );
    if (order == 0) {
      found = true;
      return mid;
    }
    if (order < 0) low = mid + 1;
    else high = mid;
  }
  return low;
}

/** Sets a member; there is room for it. */
function setMember(key: u64, tag: u8, val: u64): void {
  const at = place(offOf(key), lenOf(key));
  const member = members + at * MEMBER_SIZE;
  if (!found) {
    memory.copy(member + MEMBER_SIZE, member, (count - at) * MEMBER_SIZE);
    store<u32>(member, lenOf(key), MEMBER_KEY_LEN);
    store<u32>(member, <u32>offOf(key), MEMBER_KEY_OFF);
    store<u32>(member, 0, MEMBER_KEY_OFF + 4);
    count++;
  }
  store<u64>(member, val);
  store<u32>(member, <u32>tag, MEMBER_TAG);
}

function removeMember(key: u64): void {
  const at = place(offOf(key), lenOf(key));
  if (!found) return;
  const member = members + at * MEMBER_SIZE;
  memory.copy(member, member + MEMBER_SIZE, (count - at - 1) * MEMBER_SIZE);
  count--;
}

/** Starts an object with `from` members copied and room for `more`. False when memory is exhausted. */
function begin(from: u64, more: u32): bool {
  count = lenOf(from);
  members = resultRoom('object', (<u64>count + more) * MEMBER_SIZE);
  if (!members || !chargeArgs('object', 2)) return false;
  memory.copy(members, offOf(from), count * MEMBER_SIZE);
  return true;
}

/** False (and the error given) when argument i, a key, is no string. */
function isKey(i: u32): bool {
  if (argTag(i) == Tag.STR) return true;
  give(Tag.ERROR, valueError('a member needs a name, but found ', argTag(i), argVal(i)));
  return false;
}

export function nestedObjectOf(op: Operation): void {
  mapArgsStrict(op, (): void => {
    if (!begin(0, argCount >> 1)) return;
    for (let i: u32 = 0; i + 1 < argCount; i += 2) {
      if (!isKey(i)) return;
      if (argTag(i + 1) != Tag.MISSING) setMember(argVal(i), argTag(i + 1), argVal(i + 1));
    }
    give(Tag.OBJECT, span(members, count));
  });
}

/** Null values leave their member out. */
const OMIT_NULL: u32 = 1;
let flags: u32 = 0;

export function nestedMerge(op: Operation): void {
  flags = op.imm;
  mapA(op, (tag: u8, val: u64): void => {
    if (tag != Tag.OBJECT && !isNull(tag)) {
      give(Tag.ERROR, valueError('an object is needed, but found ', tag, val));
      return;
    }
    if (!begin(isNull(tag) ? 0 : val, argCount >> 1)) return;
    for (let i: u32 = 0; i + 1 < argCount; i += 2) {
      if (!isKey(i)) return;
      const valueTag = argTag(i + 1);
      if (valueTag == Tag.ERROR) {
        give(valueTag, argVal(i + 1));
        return;
      }
      // A constant MISSING removes, as EXCEPT does; a column that is absent in this row is a null like any other.
      if (isNull(valueTag) && ((flags & OMIT_NULL) != 0 || (valueTag == Tag.MISSING && argIsConst(i + 1)))) {
        removeMember(argVal(i));
      } else {
        setMember(argVal(i), max(valueTag, Tag.NULL), argVal(i + 1));
      }
    }
    give(Tag.OBJECT, span(members, count));
  });
}

export function nestedSpread(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (tagA == Tag.OBJECT || tagA == Tag.ERROR) {
      give(tagA, a);
      return;
    }
    count = 0;
    members = resultRoom('object', MEMBER_SIZE);
    if (!members) return;
    setMember(b, max(tagA, Tag.NULL), a);
    give(Tag.OBJECT, span(members, count));
  });
}
