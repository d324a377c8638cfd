// Rows by the hash of their keys. Rows are added behind the last and dropped from the first on; a bucket lists its rows
// in their order. A row stands in the slot after that of the row before it, around the ring.
//
//   index   0   size u32 | mask u32 (buckets - 1) | ring u32 (slots - 1) | oldest u32 (slot of the first row)
//           16  keys u32 | step u32 | spec u32 (of the table that the index is of) | cleared u32 (of one that is not
//           made yet: bytes of buckets)
//           32  u32[16] for each key: a bit for each kind that its values have (null has none), then rows by the kind
//           of their value
//               {first u32, last u32}[mask + 1], {next u32, hash u32}[ring + 1]          numbers of slots + 1, 0 none
import { alloc, free } from '../../mem/alloc';
import { Page, pageTag } from '../../rows/page';
import { keyAt } from './spec';
import { KIND_COUNT, KIND_NULL, NO_HASH, kindOf, rightHash } from './keys';
import { JoinSpec, JoinStep } from '../../gen/join-layouts';

/** An index of rows by their keys. */
// @ts-ignore: decorator
@unmanaged
export class HashIndex {
  private gap0: u32;
  mask: u32;
  ring: u32;
  oldest: u32;
  keys: u32;
  step: JoinStep;
  spec: JoinSpec;
  cleared: u32;
}

const INDEX_KINDS: u32 = 32;
/** Bytes cleared in the larger index for each new row, and rows copied to it: double of the need. */
const CLEARED: u32 = 256;
const CAUGHT_UP: u32 = 4;
const KINDS_SIZE: u32 = KIND_COUNT << 2;

/** Makes an empty index with room for one row more than `rows`; 0 when memory is exhausted. */
export function indexNew(spec: JoinSpec, step: JoinStep, keys: u32, rows: u32, acct: usize): HashIndex {
  let slots: u32 = 64;
  while (slots <= rows && slots < 1 << 27) slots <<= 1;
  const fixed = INDEX_KINDS + keys * KINDS_SIZE;
  const size = <u64>fixed + ((<u64>slots) << 4);
  if (slots <= rows || size > 0x7fffffff) return changetype<HashIndex>(0);
  const index = changetype<HashIndex>(alloc(<u32>size, acct));
  if (!index) return changetype<HashIndex>(0);
  memory.fill(changetype<usize>(index), 0, fixed + (slots << 3));
  store<u32>(changetype<usize>(index), <u32>size);
  index.mask = slots - 1;
  index.ring = slots - 1;
  index.keys = keys;
  index.step = step;
  index.spec = spec;
  return index;
}

export function indexFree(index: HashIndex, acct: usize): void {
  if (index) free(changetype<usize>(index), load<u32>(changetype<usize>(index)), acct);
}

// @ts-ignore: decorator
@inline function bucketAt(index: HashIndex, hash: u32): usize {
  const buckets = changetype<usize>(index) + INDEX_KINDS + index.keys * KINDS_SIZE;
  return buckets + ((<usize>(hash & index.mask)) << 3);
}

// @ts-ignore: decorator
@inline function entryAt(index: HashIndex, slot: u32): usize {
  const buckets = changetype<usize>(index) + INDEX_KINDS + index.keys * KINDS_SIZE;
  return buckets + ((<usize>(index.mask + 1 + slot)) << 3);
}

/** Counts a value of key `k` in or out. */
// @ts-ignore: decorator
@inline export function indexCount(index: HashIndex, k: u32, kind: u32, by: u32): void {
  if (kind == KIND_NULL) return;
  const kinds = changetype<usize>(index) + INDEX_KINDS + k * KINDS_SIZE;
  const at = kinds + (kind << 2);
  const count = load<u32>(at) + by;
  store<u32>(at, count);
  const bit: u32 = 1 << kind;
  store<u32>(kinds, count ? load<u32>(kinds) | bit : load<u32>(kinds) & ~bit);
}

/** Kinds that the values of key `k` have, a bit for each; null has none. */
// @ts-ignore: decorator
@inline export function indexKinds(index: HashIndex, k: u32): u32 {
  return load<u32>(changetype<usize>(index) + INDEX_KINDS + k * KINDS_SIZE);
}

/** Adds the row at position `row`, which is the last; it must have room. */
export function indexAdd(index: HashIndex, row: u32, hash: u32): void {
  const slot = (index.oldest + row) & index.ring;
  const entry = entryAt(index, slot);
  store<u32>(entry, 0);
  store<u32>(entry, hash, 4);
  if (hash == NO_HASH) return;
  const bucket = bucketAt(index, hash);
  if (load<u32>(bucket)) store<u32>(entryAt(index, load<u32>(bucket, 4) - 1), slot + 1);
  else store<u32>(bucket, slot + 1);
  store<u32>(bucket, slot + 1, 4);
}

/** First slot of the bucket of a hash, + 1; 0 none. */
// @ts-ignore: decorator
@inline export function indexFirst(index: HashIndex, hash: u32): u32 {
  return load<u32>(bucketAt(index, hash));
}

/** The slot after `slot` in its bucket, both + 1; 0 none. */
// @ts-ignore: decorator
@inline export function indexNext(index: HashIndex, slot: u32): u32 {
  return load<u32>(entryAt(index, slot - 1));
}

/** Position of the row in the slot (+ 1), or -1 when its keys have another hash. */
// @ts-ignore: decorator
@inline export function indexRow(index: HashIndex, slot: u32, hash: u32): i32 {
  if (load<u32>(entryAt(index, slot - 1), 4) != hash) return -1;
  return <i32>((slot - 1 - index.oldest) & index.ring);
}

// ---- the right side -------------------------------------------------------------------------------------------

/**
 * Adds a row behind the last one, at the position, which stands in a page. False when it has no room: a larger index
 * must be made.
 */
export function indexAddRow(index: HashIndex, position: u32, page: Page, row: u32): bool {
  if (position > index.ring) return false;
  countRow(index, page, row, 1);
  indexAdd(index, position, rightHash(index.spec, index.step, page, row));
  return true;
}

/** Takes the first row out. */
export function indexDropRow(index: HashIndex, page: Page, row: u32): void {
  countRow(index, page, row, -1);
  indexDrop(index);
}

/** Takes the first row out without its kinds. It is the first of its bucket as well. */
export function indexDrop(index: HashIndex): void {
  const oldest = index.oldest;
  const entry = entryAt(index, oldest);
  const hash = load<u32>(entry, 4);
  if (hash != NO_HASH) store<u32>(bucketAt(index, hash), load<u32>(entry));
  index.oldest = (oldest + 1) & index.ring;
}

function countRow(index: HashIndex, page: Page, row: u32, by: u32): void {
  const spec = index.spec;
  const step = index.step;
  const keys = index.keys;
  for (let k: u32 = 0; k < keys; k++) {
    indexCount(index, k, kindOf(pageTag(page, keyAt(spec, step, k).right, row)), by);
  }
}

// ---- a larger one ---------------------------------------------------------------------------------------------

/** How many rows the index has room for. */
// @ts-ignore: decorator
@inline export function indexRoom(index: HashIndex): u32 {
  return index.ring + 1;
}

/** Makes an index of twice the size, which is to catch up with the other; 0 when memory is exhausted. */
export function indexLarger(index: HashIndex, acct: usize): HashIndex {
  const slots = indexRoom(index) << 1;
  const size = <u64>(INDEX_KINDS + index.keys * KINDS_SIZE) + ((<u64>slots) << 4);
  if (slots > 1 << 27 || size > 0x7fffffff) return changetype<HashIndex>(0);
  const made = changetype<HashIndex>(alloc(<u32>size, acct));
  if (!made) return changetype<HashIndex>(0);
  memory.copy(changetype<usize>(made), changetype<usize>(index), INDEX_KINDS);
  store<u32>(changetype<usize>(made), <u32>size);
  made.mask = slots - 1;
  made.ring = slots - 1;
  made.oldest = 0;
  made.cleared = 0;
  return made;
}

/**
 * Brings some rows of the index to the larger one, which has the first `made` of its `count` rows; returns how many it
 * has then.
 */
export function indexCatchUp(larger: HashIndex, index: HashIndex, made: u32, count: u32): u32 {
  const bytes = indexRoom(larger) << 3;
  const cleared = larger.cleared;
  if (cleared < bytes) {
    const part = min(CLEARED, bytes - cleared);
    memory.fill(changetype<usize>(larger) + INDEX_KINDS + larger.keys * KINDS_SIZE + cleared, 0, part);
    larger.cleared = cleared + part;
    return made;
  }
  const to = min(made + CAUGHT_UP, count);
  for (let row = made; row < to; row++) {
    const slot = (index.oldest + row) & index.ring;
    indexAdd(larger, row, load<u32>(entryAt(index, slot), 4));
  }
  return to;
}

/** The larger index has all rows of the other, which it takes the place of. */
export function indexReplace(larger: HashIndex, index: HashIndex, acct: usize): void {
  memory.copy(changetype<usize>(larger) + INDEX_KINDS, changetype<usize>(index) + INDEX_KINDS, index.keys * KINDS_SIZE);
  indexFree(index, acct);
}
