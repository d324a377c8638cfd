// Candidates by hash: pairs whose keys cannot be equal are left out. Used only where the condition is false, without an
// error, for every pair left out: all values of a key that are not null are of one kind.
import { accountOf } from '../flow/node';
import { alloc, free } from '../mem/alloc';
import { Tag, lenOf, offOf } from '../mem/layout';
import { bytesHash, hashU64 } from '../value/bytes';
import { K_IS_PLAIN, K_LEFT, K_LEFT_BRANCH, K_RIGHT, T_BRANCH, T_KEYS, branchAt, keyAt, slotsOf } from './spec';
import { leftCount, node, placeOf, recordOf, rightCount, spec, step } from './run';
import { recordTag, recordVal } from './rows';
import { addPair, outerIsRight } from './pairs';

/** A row costs as much to hash as so many pairs to judge. */
const PAIRS_PER_ROW: u64 = 4;
/** No key: null never equals anything. */
const NO_HASH: u32 = 0;

/** Adds the candidates of the step. False when they are not to be had this way: nothing was added then. */
export function hashPairs(): bool {
  const keys = load<u32>(step, T_KEYS);
  if (keys == 0 || <u64>leftCount * rightCount < (<u64>leftCount + rightCount) * PAIRS_PER_ROW) return false;
  for (let k: u32 = 0; k < keys; k++) if (!isOneKind(keyAt(spec, step, k))) return false;
  const innerCount = outerIsRight ? leftCount : rightCount;
  const outerCount = outerIsRight ? rightCount : leftCount;
  let buckets: u32 = 64;
  while (buckets < innerCount) buckets <<= 1;
  const size = <u64>(buckets + (innerCount << 1)) << 2;
  if (size > 0x7fffffff) return false;
  const table = alloc(<u32>size, accountOf(node));
  if (!table) return false;
  probe(table, buckets - 1, innerCount, outerCount);
  free(table, <u32>size, accountOf(node));
  return true;
}

/**
 * Fills the table with the inner rows and looks the outer rows up.
 *
 *     heads u32[buckets] | {next u32, hash u32}[inner]       heads and next: number of the row + 1, 0 none
 */
function probe(table: usize, mask: u32, innerCount: u32, outerCount: u32): void {
  const entries = table + (<usize>(mask + 1) << 2);
  memory.fill(table, 0, <usize>(mask + 1) << 2);
  // From the last to the first, so that a bucket lists them in their order.
  for (let i = innerCount; i > 0; i--) {
    const hash = hashOf(i - 1, outerIsRight);
    const entry = entries + (<usize>(i - 1) << 3);
    store<u32>(entry, hash, 4);
    if (hash == NO_HASH) continue;
    const head = table + (<usize>(hash & mask) << 2);
    store<u32>(entry, load<u32>(head));
    store<u32>(head, i);
  }
  for (let o: u32 = 0; o < outerCount; o++) {
    const hash = hashOf(o, !outerIsRight);
    if (hash == NO_HASH) continue;
    let i = load<u32>(table + (<usize>(hash & mask) << 2));
    while (i) {
      const entry = entries + (<usize>(i - 1) << 3);
      if (load<u32>(entry, 4) == hash && !(outerIsRight ? addPair(i - 1, o) : addPair(o, i - 1))) return;
      i = load<u32>(entry);
    }
  }
}

/** Hash of the keys of a row; NO_HASH when one of them is null. */
function hashOf(i: u32, isLeft: bool): u32 {
  const keys = load<u32>(step, T_KEYS);
  let hash: u32 = 0;
  for (let k: u32 = 0; k < keys; k++) {
    const key = keyAt(spec, step, k);
    const branch = load<u32>(isLeft ? key + K_LEFT_BRANCH : step + T_BRANCH);
    const record = recordOf(isLeft ? placeOf(branch) : -1, i, i);
    if (!record) return NO_HASH;
    const slot = load<u32>(key + (isLeft ? K_LEFT : K_RIGHT));
    const tag = recordTag(record, slotsOf(branchAt(spec, branch)), slot);
    if (tag <= Tag.NULL) return NO_HASH;
    hash = hash * 31 + valueHash(tag, recordVal(record, slot));
  }
  return hash == NO_HASH ? 1 : hash;
}

function valueHash(tag: u8, payload: u64): u32 {
  if (tag == Tag.STR || tag == Tag.BYTES) return bytesHash(offOf(payload), lenOf(payload));
  // Numbers of both kinds are compared as doubles; adding 0 makes -0 to 0.
  if (tag == Tag.I64) return hashU64(reinterpret<u64>(<f64>(<i64>payload)));
  if (tag == Tag.F64) return hashU64(reinterpret<u64>(reinterpret<f64>(payload) + 0.0));
  return hashU64(payload);
}

/** All values of the key on both sides are null or of one kind that compares without errors. */
function isOneKind(key: usize): bool {
  let kinds: u32 = 0;
  const leftBranch = load<u32>(key, K_LEFT_BRANCH);
  const place = placeOf(leftBranch);
  if (place < 0) return false;
  const leftSlots = slotsOf(branchAt(spec, leftBranch));
  for (let i: u32 = 0; i < leftCount; i++) {
    const record = recordOf(place, i, i);
    // What a computed key is without a row is not known here.
    if (record) kinds |= kindOf(recordTag(record, leftSlots, load<u32>(key, K_LEFT)));
    else if (!load<u32>(key, K_IS_PLAIN)) return false;
  }
  const rightSlots = slotsOf(branchAt(spec, load<u32>(step, T_BRANCH)));
  for (let i: u32 = 0; i < rightCount; i++) {
    kinds |= kindOf(recordTag(recordOf(-1, i, i), rightSlots, load<u32>(key, K_RIGHT)));
  }
  return !(kinds & OTHER_KIND) && popcnt(kinds) <= 1;
}

const OTHER_KIND: u32 = 1 << 15;

function kindOf(tag: u8): u32 {
  if (tag <= Tag.NULL) return 0;
  if (tag == Tag.I64 || tag == Tag.F64) return 1 << 3;
  if (tag == Tag.STR || tag == Tag.BYTES || tag == Tag.BOOL || tag == Tag.TIME) return <u32>1 << tag;
  return OTHER_KIND;
}
