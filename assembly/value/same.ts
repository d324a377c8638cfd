// Sameness of values: of one kind and with one content, however nested. Unlike `=`, an integer is not the double of its size;
// null and missing are one.
import { MEMBER_KEY_LEN, MEMBER_KEY_OFF, MEMBER_SIZE, MEMBER_TAG, SLOT_SIZE, SLOT_TAG, Tag, lenOf, offOf } from '../mem/layout';
import { timeInstant } from '../text/time';
import { bytesEqual } from './bytes';

/** The values are the same. */
export function sameValues(tagA: u8, a: u64, tagB: u8, b: u64): bool {
  if (tagA != tagB) return tagA <= Tag.NULL && tagB <= Tag.NULL;
  if (tagA <= Tag.NULL) return true;
  if (tagA == Tag.F64) return reinterpret<f64>(a) == reinterpret<f64>(b);
  if (tagA < Tag.STR) return a == b;
  if (tagA == Tag.TIME) return timeInstant(<i64>a) == timeInstant(<i64>b);
  const n = lenOf(a);
  if (n != lenOf(b)) return false;
  const p = offOf(a);
  const q = offOf(b);
  if (tagA == Tag.ARRAY) {
    for (let i: u32 = 0; i < n * SLOT_SIZE; i += SLOT_SIZE) {
      if (!sameValues(load<u8>(p + i, SLOT_TAG), load<u64>(p + i), load<u8>(q + i, SLOT_TAG), load<u64>(q + i))) return false;
    }
    return true;
  }
  if (tagA == Tag.OBJECT) {
    for (let i: u32 = 0; i < n * MEMBER_SIZE; i += MEMBER_SIZE) {
      const len = load<u32>(p + i, MEMBER_KEY_LEN);
      if (len != load<u32>(q + i, MEMBER_KEY_LEN)) return false;
      if (!bytesEqual(<usize>load<u32>(p + i, MEMBER_KEY_OFF), <usize>load<u32>(q + i, MEMBER_KEY_OFF), len)) return false;
      if (!sameValues(load<u8>(p + i, MEMBER_TAG), load<u64>(p + i), load<u8>(q + i, MEMBER_TAG), load<u64>(q + i))) return false;
    }
    return true;
  }
  return bytesEqual(p, q, n);
}
