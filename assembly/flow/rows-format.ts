// The engine's own binary form of rows, as memory topics carry it between rules.
//
//   value   tag u8, then by tag
//             MISSING, NULL   nothing
//             BOOL            u8
//             I64, F64, TIME  8 bytes
//             STR, BYTES      len u32, bytes
//             ARRAY           count u32, values
//             OBJECT          count u32, members: keyLen u32, key, value; keys ascending by bytes
//
// A message is an OBJECT (one row) or an ARRAY of them. Numbers are little-endian and not aligned.
import {
  MEMBER_KEY_LEN, MEMBER_KEY_OFF, MEMBER_SIZE, MEMBER_TAG, SLOT_SIZE, SLOT_TAG, Tag, lenOf, offOf,
} from '../mem/layout';

/** Bytes before the members of an object or the items of an array. */
export const ROW_OBJECT: usize = 5;

/** Writes tag and count of an array or object. */
// @ts-ignore: decorator
@inline export function rowWriteHead(to: usize, tag: u8, count: u32): void {
  store<u8>(to, tag);
  store<u32>(to, count, 1);
}

/** Bytes that `rowWriteValue` writes. */
export function rowSizeBound(tag: u8, val: u64): u64 {
  if (tag < Tag.STR || tag == Tag.TIME) return 9;
  const off = offOf(val);
  const n = lenOf(val);
  if (tag == Tag.ARRAY) {
    let sum: u64 = 5;
    for (let i: u32 = 0; i < n; i++) {
      const slot = off + i * SLOT_SIZE;
      sum += rowSizeBound(load<u8>(slot, SLOT_TAG), load<u64>(slot));
    }
    return sum;
  }
  if (tag == Tag.OBJECT) {
    let sum: u64 = 5;
    for (let i: u32 = 0; i < n; i++) {
      const member = off + i * MEMBER_SIZE;
      sum += 4 + load<u32>(member, MEMBER_KEY_LEN) + rowSizeBound(load<u8>(member, MEMBER_TAG), load<u64>(member));
    }
    return sum;
  }
  return <u64>n + 5;
}

/** Writes a value with everything it refers to and returns its end. */
export function rowWriteValue(to: usize, tag: u8, val: u64): usize {
  store<u8>(to, tag);
  if (tag <= Tag.NULL) return to + 1;
  if (tag == Tag.BOOL) {
    store<u8>(to, <u8>val, 1);
    return to + 2;
  }
  if (tag == Tag.I64 || tag == Tag.F64 || tag == Tag.TIME) {
    store<u64>(to, val, 1);
    return to + 9;
  }
  const off = offOf(val);
  const n = lenOf(val);
  store<u32>(to, n, 1);
  let p = to + 5;
  if (tag == Tag.ARRAY) {
    for (let i: u32 = 0; i < n; i++) {
      const slot = off + i * SLOT_SIZE;
      p = rowWriteValue(p, load<u8>(slot, SLOT_TAG), load<u64>(slot));
    }
    return p;
  }
  if (tag == Tag.OBJECT) {
    for (let i: u32 = 0; i < n; i++) {
      const member = off + i * MEMBER_SIZE;
      const keyLen = load<u32>(member, MEMBER_KEY_LEN);
      store<u32>(p, keyLen);
      memory.copy(p + 4, <usize>load<u32>(member, MEMBER_KEY_OFF), keyLen);
      p = rowWriteValue(p + 4 + keyLen, load<u8>(member, MEMBER_TAG), load<u64>(member));
    }
    return p;
  }
  memory.copy(p, off, n);
  return p + n;
}
