// Hashes of values that `=` takes for equal: numbers of both kinds are compared as doubles, so equal ones have one
// hash.
import { Tag, lenOf, offOf } from '../mem/layout';
import { timeInstant } from '../text/time';
import { bytesHash, hashU64 } from './bytes';

/** Hash of a row that has no key. */
export const NO_HASH: u32 = 0;

/** Adds a value that is not null to the hash of those before; begin with 0, end with `hashDone`. */
export function hashAdd(hash: u32, tag: u8, payload: u64): u32 {
  return hash * 31 + valueHash(tag, payload);
}

// @ts-ignore: decorator
@inline export function hashDone(hash: u32): u32 {
  return hash == NO_HASH ? 1 : hash;
}

function valueHash(tag: u8, payload: u64): u32 {
  if (tag == Tag.STR || tag == Tag.BYTES) return bytesHash(offOf(payload), lenOf(payload));
  if (tag == Tag.I64) return hashU64(reinterpret<u64>(<f64>(<i64>payload)));
  // Adding 0 makes -0 to 0.
  if (tag == Tag.F64) return hashU64(reinterpret<u64>(reinterpret<f64>(payload) + 0.0));
  return hashU64(tag == Tag.TIME ? <u64>timeInstant(<i64>payload) : payload);
}
