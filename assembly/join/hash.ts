// Candidates by hash: pairs whose keys cannot be equal are left out. Used only where the condition is false, without an
// error, for every pair left out: all values of a key that are not null are of one kind.
//
//   index   size u32 | mask u32 | isUsable u32 | 0 u32 | kinds u32[keys] of the inner rows
//           heads u32[mask + 1] | {next u32, hash u32}[inner]       heads and next: number of the row + 1, 0 none
import { accountOf } from '../flow/node';
import { alloc, free } from '../mem/alloc';
import { Tag, lenOf, offOf } from '../mem/layout';
import { bytesHash, hashU64 } from '../value/bytes';
import {
  B_IS_TABLE, K_IS_PLAIN, K_LEFT, K_LEFT_BRANCH, K_RIGHT, T_BRANCH, T_KEYS, branchAt, keyAt, listAt, slotsOf,
} from './spec';
import { leftCount, node, placeOf, recordOf, rightCount, spec, state, step } from './run';
import { LIST_INDEX, LIST_LOOKUPS, recordTag, recordVal } from './rows';
import { addPair, outerIsRight } from './pairs';

/** A row costs as much to hash as so many pairs to judge. */
const PAIRS_PER_ROW: u64 = 4;
/** No key: null never equals anything. */
const NO_HASH: u32 = 0;

const I_MASK: usize = 4;
const I_USABLE: usize = 8;
const I_KINDS: u32 = 16;

/** Adds the candidates of the step. False when they are not to be had this way: nothing was added then. */
export function hashPairs(): bool {
  const keys = load<u32>(step, T_KEYS);
  if (keys == 0) return false;
  const branch = load<u32>(step, T_BRANCH);
  if (!outerIsRight && load<u32>(branchAt(spec, branch), B_IS_TABLE)) {
    const kept = indexOfTable(listAt(state, branch), keys);
    return kept != 0 && probe(kept, keys);
  }
  if (!isWorthwhile(leftCount)) return false;
  const index = indexNew(keys);
  if (!index) return false;
  const done = probe(index, keys);
  indexFree(index, accountOf(node));
  return done;
}

/** True when an index pays for so many lookups of rows of the left side. */
function isWorthwhile(lookups: u32): bool {
  return <u64>lookups * rightCount >= (<u64>lookups + rightCount) * PAIRS_PER_ROW;
}

/** Index of a table, which stays until a row comes to it; made once enough rows were looked up in vain. */
function indexOfTable(list: usize, keys: u32): usize {
  const kept = <usize>load<u32>(list, LIST_INDEX);
  if (kept) return kept;
  const lookups = load<u32>(list, LIST_LOOKUPS) + leftCount;
  store<u32>(list, lookups, LIST_LOOKUPS);
  if (!isWorthwhile(lookups)) return 0;
  const index = indexNew(keys);
  store<u32>(list, <u32>index, LIST_INDEX);
  return index;
}

/** Makes an index of the inner rows; 0 when memory is exhausted. */
function indexNew(keys: u32): usize {
  const count = outerIsRight ? leftCount : rightCount;
  let buckets: u32 = 64;
  while (buckets < count && buckets < 1 << 28) buckets <<= 1;
  const size = <u64>I_KINDS + ((<u64>keys + buckets + (<u64>count << 1)) << 2);
  if (size > 0x7fffffff) return 0;
  const index = alloc(<u32>size, accountOf(node));
  if (!index) return 0;
  store<u32>(index, <u32>size);
  store<u32>(index, buckets - 1, I_MASK);
  let isUsable = true;
  for (let k: u32 = 0; k < keys; k++) {
    const kinds = kindsOf(keyAt(spec, step, k), outerIsRight);
    store<u32>(index + (<usize>k << 2), kinds, I_KINDS);
    isUsable = isUsable && !(kinds & OTHER_KIND);
  }
  store<u32>(index, <u32>isUsable, I_USABLE);
  if (isUsable) fillIndex(headsOf(index, keys), buckets - 1, count);
  return index;
}

export function indexFree(index: usize, acct: usize): void {
  if (index) free(index, load<u32>(index), acct);
}

// @ts-ignore: decorator
@inline function headsOf(index: usize, keys: u32): usize {
  return index + I_KINDS + (<usize>keys << 2);
}

/** Enters the inner rows from the last to the first, so that a bucket lists them in their order. */
function fillIndex(heads: usize, mask: u32, count: u32): void {
  const entries = heads + (<usize>(mask + 1) << 2);
  memory.fill(heads, 0, <usize>(mask + 1) << 2);
  for (let i = count; i > 0; i--) {
    const hash = hashOf(i - 1, outerIsRight);
    const entry = entries + (<usize>(i - 1) << 3);
    store<u32>(entry, hash, 4);
    if (hash == NO_HASH) continue;
    const head = heads + (<usize>(hash & mask) << 2);
    store<u32>(entry, load<u32>(head));
    store<u32>(head, i);
  }
}

/** Looks the outer rows up. False when the kinds of the keys don't allow it: nothing was added then. */
function probe(index: usize, keys: u32): bool {
  if (!load<u32>(index, I_USABLE)) return false;
  for (let k: u32 = 0; k < keys; k++) {
    const inner = load<u32>(index + (<usize>k << 2), I_KINDS);
    const kinds = inner | kindsOf(keyAt(spec, step, k), !outerIsRight);
    if (kinds & OTHER_KIND || popcnt(kinds) > 1) return false;
  }
  const mask = load<u32>(index, I_MASK);
  const heads = headsOf(index, keys);
  const entries = heads + (<usize>(mask + 1) << 2);
  const count = outerIsRight ? rightCount : leftCount;
  for (let o: u32 = 0; o < count; o++) {
    const hash = hashOf(o, !outerIsRight);
    if (hash == NO_HASH) continue;
    let i = load<u32>(heads + (<usize>(hash & mask) << 2));
    while (i) {
      const entry = entries + (<usize>(i - 1) << 3);
      if (load<u32>(entry, 4) == hash && !(outerIsRight ? addPair(i - 1, o) : addPair(o, i - 1))) return true;
      i = load<u32>(entry);
    }
  }
  return true;
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

/** Kinds of the values of a key on one side, a bit for each; OTHER_KIND: some of them don't compare without errors. */
function kindsOf(key: usize, isLeft: bool): u32 {
  const branch = load<u32>(isLeft ? key + K_LEFT_BRANCH : step + T_BRANCH);
  const place = placeOf(branch);
  if (isLeft && place < 0) return OTHER_KIND;
  const slots = slotsOf(branchAt(spec, branch));
  const slot = load<u32>(key + (isLeft ? K_LEFT : K_RIGHT));
  const count = isLeft ? leftCount : rightCount;
  let kinds: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const record = recordOf(place, i, i);
    // What a computed key is without a row is not known here.
    if (record) kinds |= kindOf(recordTag(record, slots, slot));
    else if (!load<u32>(key, K_IS_PLAIN)) return OTHER_KIND;
  }
  return kinds;
}

const OTHER_KIND: u32 = 1 << 15;

function kindOf(tag: u8): u32 {
  if (tag <= Tag.NULL) return 0;
  if (tag == Tag.I64 || tag == Tag.F64) return 1 << 3;
  if (tag == Tag.STR || tag == Tag.BYTES || tag == Tag.BOOL || tag == Tag.TIME) return <u32>1 << tag;
  return OTHER_KIND;
}
