// Members of an object, or of each object of a list, by their names.
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
import { bytesEqual } from '../../value/bytes';
import { valueError } from '../../value/error';
import { resultRoom } from '../result';
import { argCount, argVal, give, mapA } from '../row-loops';
import { findMember } from './access';
import { Operation } from '../../gen/ops-layouts';

/** The named members are left out; otherwise only they are there, null where the object has none. */
const WITHOUT: u32 = 1;
let flags: u32 = 0;
/** The object that `selected` made. */
let made: u64 = 0;

export function nestedSelect(op: Operation): void {
  flags = op.imm;
  mapA(op, (tag: u8, val: u64): void => {
    if (tag == Tag.OBJECT) {
      if (selected(val)) give(Tag.OBJECT, made);
    } else if (tag == Tag.ARRAY) giveList(val);
    else if (isNull(tag)) give(tag, val);
    else give(Tag.ERROR, valueError('fields can be taken of objects only, but found ', tag, val));
  });
}

function giveList(list: u64): void {
  const n = lenOf(list);
  const to = resultRoom('array', <u64>n * SLOT_SIZE);
  if (!to) return;
  for (let i: u32 = 0; i < n; i++) {
    const slot = offOf(list) + i * SLOT_SIZE;
    const tag = load<u8>(slot, SLOT_TAG);
    if (tag != Tag.OBJECT) {
      give(Tag.ERROR, valueError('fields can be taken of objects only, but found ', tag, load<u64>(slot)));
      return;
    }
    if (!selected(load<u64>(slot))) return;
    store<u64>(to + i * SLOT_SIZE, made);
    store<u64>(to + i * SLOT_SIZE, <u64>Tag.OBJECT, SLOT_TAG);
  }
  give(Tag.ARRAY, span(to, n));
}

/**
 * Makes the object of the members that are asked for; false (and the error given) when it has no room. Names ascend.
 */
function selected(object: u64): bool {
  const n = flags & WITHOUT ? lenOf(object) : argCount;
  const to = resultRoom('object', <u64>n * MEMBER_SIZE);
  if (!to) return false;
  let count: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const at = to + count * MEMBER_SIZE;
    if (flags & WITHOUT) {
      const member = offOf(object) + i * MEMBER_SIZE;
      if (isNamed(<usize>load<u32>(member, MEMBER_KEY_OFF), load<u32>(member, MEMBER_KEY_LEN))) continue;
      memory.copy(at, member, MEMBER_SIZE);
    } else {
      const name = argVal(i);
      const member = findMember(object, offOf(name), lenOf(name));
      if (member) memory.copy(at, member, MEMBER_SIZE);
      else {
        store<u64>(at, 0);
        store<u32>(at, <u32>Tag.NULL, MEMBER_TAG);
        store<u32>(at, lenOf(name), MEMBER_KEY_LEN);
        store<u32>(at, <u32>offOf(name), MEMBER_KEY_OFF);
        store<u32>(at, 0, MEMBER_KEY_OFF + 4);
      }
    }
    count++;
  }
  made = span(to, count);
  return true;
}

function isNamed(key: usize, len: u32): bool {
  for (let i: u32 = 0; i < argCount; i++) {
    if (lenOf(argVal(i)) == len && bytesEqual(offOf(argVal(i)), key, len)) return true;
  }
  return false;
}
