// Sameness of values: of one kind and with one content, however nested. Numbers are the same as `=` has it, 1 and 1.0
// are; null and missing are one, and all that is no number.
import {
  MEMBER_KEY_LEN,
  MEMBER_KEY_OFF,
  MEMBER_SIZE,
  MEMBER_TAG,
  SLOT_SIZE,
  SLOT_TAG,
  Tag,
  isNumber,
  lenOf,
  offOf,
} from '../mem/layout';
import { timeInstant } from '../text/time';
import { bytesEqual, bytesHash, hashU64 } from './bytes';
import { compareValues } from './compare';

/** True when the values are the same. */
export function sameValues(tagA: u8, a: u64, tagB: u8, b: u64): bool {
  if (tagA != tagB) {
    if (tagA <= Tag.NULL) return tagB <= Tag.NULL;
    return isNumber(tagA) && isNumber(tagB) && compareValues(tagA, a, tagB, b) == 0;
  }
  if (tagA <= Tag.NULL) return true;
  if (tagA == Tag.F64) {
    const x = reinterpret<f64>(a);
    const y = reinterpret<f64>(b);
    return x == y || (isNaN(x) && isNaN(y));
  }
  if (tagA < Tag.STR) return a == b;
  if (tagA == Tag.TIME) return timeInstant(<i64>a) == timeInstant(<i64>b);
  const n = lenOf(a);
  if (n != lenOf(b)) return false;
  const p = offOf(a);
  const q = offOf(b);
  if (tagA == Tag.ARRAY) {
    for (let i: u32 = 0; i < n * SLOT_SIZE; i += SLOT_SIZE) {
      if (!sameValues(load<u8>(p + i, SLOT_TAG), load<u64>(p + i), load<u8>(q + i, SLOT_TAG), load<u64>(q + i)))
        return false;
    }
    return true;
  }
  if (tagA == Tag.OBJECT) {
    for (let i: u32 = 0; i < n * MEMBER_SIZE; i += MEMBER_SIZE) {
      const len = load<u32>(p + i, MEMBER_KEY_LEN);
      if (len != load<u32>(q + i, MEMBER_KEY_LEN)) return false;
      if (!bytesEqual(<usize>load<u32>(p + i, MEMBER_KEY_OFF), <usize>load<u32>(q + i, MEMBER_KEY_OFF), len))
        return false;
      if (!sameValues(load<u8>(p + i, MEMBER_TAG), load<u64>(p + i), load<u8>(q + i, MEMBER_TAG), load<u64>(q + i)))
        return false;
    }
    return true;
  }
  return bytesEqual(p, q, n);
}

/** Hash of a value; values that are the same have equal hashes. */
export function sameHash(tag: u8, val: u64): u32 {
  if (tag <= Tag.NULL) return 0;
  // As doubles; adding 0 makes -0 to 0.
  if (tag == Tag.I64) return hashU64(reinterpret<u64>(<f64>(<i64>val)));
  if (tag == Tag.F64) return isNaN(reinterpret<f64>(val)) ? 1 : hashU64(reinterpret<u64>(reinterpret<f64>(val) + 0.0));
  if (tag < Tag.STR) return hashU64(val);
  if (tag == Tag.TIME) return hashU64(<u64>timeInstant(<i64>val));
  const n = lenOf(val);
  const at = offOf(val);
  if (tag != Tag.ARRAY && tag != Tag.OBJECT) return bytesHash(at, n);
  let hash = n;
  if (tag == Tag.ARRAY) {
    for (let i: u32 = 0; i < n * SLOT_SIZE; i += SLOT_SIZE) {
      hash = hash * 31 + sameHash(load<u8>(at + i, SLOT_TAG), load<u64>(at + i));
    }
    return hash;
  }
  for (let i: u32 = 0; i < n * MEMBER_SIZE; i += MEMBER_SIZE) {
    const key = bytesHash(<usize>load<u32>(at + i, MEMBER_KEY_OFF), load<u32>(at + i, MEMBER_KEY_LEN));
    hash = (hash * 31 + key) * 31 + sameHash(load<u8>(at + i, MEMBER_TAG), load<u64>(at + i));
  }
  return hash;
}
