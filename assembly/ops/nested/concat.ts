// Several objects as one.
import { MEMBER_KEY_LEN, MEMBER_KEY_OFF, MEMBER_SIZE, Tag, isNull, lenOf, offOf, span } from '../../mem/layout';
import { bytesCompare } from '../../value/bytes';
import { valueError } from '../../value/error';
import { resultRoom } from '../result';
import { argCount, argTag, argVal, give, mapArgsStrict } from '../row-loops';
import { Operation } from '../../gen/ops-layouts';

/** Negative, zero or positive as the key of member a stands before, with or after that of member b. */
// @ts-ignore: decorator
@inline function keyOrder(a: usize, b: usize): i32 {
  return bytesCompare(
    <usize>load<u32>(a, MEMBER_KEY_OFF),
    load<u32>(a, MEMBER_KEY_LEN),
    <usize>load<u32>(b, MEMBER_KEY_OFF),
    load<u32>(b, MEMBER_KEY_LEN),
  );
}

/**
 * Writes the members of both objects to `at` in order of their keys, of equal keys that of `right`; returns the object.
 */
export function mergeObjects(at: usize, left: u64, right: u64): u64 {
  let a = offOf(left);
  const aEnd = a + lenOf(left) * MEMBER_SIZE;
  let b = offOf(right);
  const bEnd = b + lenOf(right) * MEMBER_SIZE;
  let to = at;
  while (a < aEnd && b < bEnd) {
    const order = keyOrder(a, b);
    const from = order < 0 ? a : b;
    memory.copy(to, from, MEMBER_SIZE);
    to += MEMBER_SIZE;
    if (order <= 0) a += MEMBER_SIZE;
    if (order >= 0) b += MEMBER_SIZE;
  }
  memory.copy(to, a, aEnd - a);
  to += aEnd - a;
  memory.copy(to, b, bEnd - b);
  to += bEnd - b;
  return span(at, <u32>(to - at) / MEMBER_SIZE);
}

export function nestedConcat(op: Operation): void {
  mapArgsStrict(op, (): void => {
    let total: u64 = 0;
    for (let i: u32 = 0; i < argCount; i++) {
      const tag = argTag(i);
      if (tag == Tag.OBJECT) total += lenOf(argVal(i));
      else if (!isNull(tag)) {
        give(Tag.ERROR, valueError('an object is needed, but found ', tag, argVal(i)));
        return;
      }
    }
    let result: u64 = 0;
    // Two blocks take turns; an object that is the only one with members stays where it is.
    let taken: usize = 0;
    let spare: usize = 0;
    for (let i: u32 = 0; i < argCount; i++) {
      if (argTag(i) != Tag.OBJECT || lenOf(argVal(i)) == 0) continue;
      if (lenOf(result) == 0) {
        result = argVal(i);
        continue;
      }
      const to = spare ? spare : resultRoom('object_concat', total * MEMBER_SIZE);
      if (!to) return;
      result = mergeObjects(to, result, argVal(i));
      spare = taken;
      taken = to;
    }
    give(Tag.OBJECT, result);
  });
}
