// Keys of rows: kinds and hashes that equal values have in common. Numbers of both kinds are compared as doubles, so
// they are of one kind and equal ones have one hash; null never equals anything.
import { Tag } from '../../mem/layout';
import { NO_HASH, hashAdd, hashDone } from '../../value/equal-hash';
import { Page, pageTag, pageVal } from '../../rows/page';
import { keyAt } from './spec';
import { JoinSpec, JoinStep } from '../../gen/join-layouts';

export { NO_HASH, hashAdd, hashDone } from '../../value/equal-hash';

/** Kinds of values are numbers below this; values of different kinds don't compare without an error. */
export const KIND_COUNT: u32 = 16;
export const KIND_NULL: u32 = 0;
/** Values that compare with an error, or whose kind is not known. */
export const KIND_OTHER: u32 = 15;

export function kindOf(tag: u8): u32 {
  if (tag <= Tag.NULL) return KIND_NULL;
  if (tag == Tag.I64) return Tag.F64;
  if (tag == Tag.F64 || tag == Tag.STR || tag == Tag.BYTES || tag == Tag.BOOL || tag == Tag.TIME) return tag;
  return KIND_OTHER;
}

/** True when the values of a key, which have these kinds, are compared without an error. */
// @ts-ignore: decorator
@inline export function isOneKind(kinds: u32): bool {
  return !(kinds & (1 << KIND_OTHER)) && popcnt(kinds) <= 1;
}

/** Hash of the keys of a row of the right side, in its page; NO_HASH when one of them is null. */
export function rightHash(spec: JoinSpec, step: JoinStep, page: Page, row: u32): u32 {
  const keys = step.keys;
  let hash: u32 = 0;
  for (let k: u32 = 0; k < keys; k++) {
    const slot = keyAt(spec, step, k).right;
    const tag = pageTag(page, slot, row);
    if (tag <= Tag.NULL) return NO_HASH;
    hash = hashAdd(hash, tag, pageVal(page, slot, row));
  }
  return hashDone(hash);
}
