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
import { pageTag } from '../../rows/page';
import { JOIN_KEY_RIGHT, keyAt } from './spec';
import { KIND_COUNT, KIND_NULL, NO_HASH, kindOf, rightHash } from './keys';

const INDEX_MASK: usize = 4;
const INDEX_RING: usize = 8;
const INDEX_OLDEST: usize = 12;
const INDEX_KEYS: usize = 16;
const INDEX_STEP: usize = 20;
const INDEX_SPEC: usize = 24;
const INDEX_CLEARED: usize = 28;
const INDEX_KINDS: u32 = 32;
/**
 * Bytes of a larger index that are cleared, and rows that come to it, with each row that comes to the one before:
 * double of what is needed.
 */
const CLEARED: u32 = 256;
const CAUGHT_UP: u32 = 4;
const KINDS_SIZE: u32 = KIND_COUNT << 2;

/** Makes an empty index with room for one row more than `rows`; 0 when memory is exhausted. */
export function indexNew(spec: usize, step: usize, keys: u32, rows: u32, acct: usize): usize {
  let slots: u32 = 64;
  while (slots <= rows && slots < 1 << 27) slots <<= 1;
  const fixed = INDEX_KINDS + keys * KINDS_SIZE;
  const size = <u64>fixed + ((<u64>slots) << 4);
  if (slots <= rows || size > 0x7fffffff) return 0;
  const index = alloc(<u32>size, acct);
  if (!index) return 0;
  memory.fill(index, 0, fixed + (slots << 3));
  store<u32>(index, <u32>size);
  store<u32>(index, slots - 1, INDEX_MASK);
  store<u32>(index, slots - 1, INDEX_RING);
  store<u32>(index, keys, INDEX_KEYS);
  store<u32>(index, <u32>step, INDEX_STEP);
  store<u32>(index, <u32>spec, INDEX_SPEC);
  return index;
}

export function indexFree(index: usize, acct: usize): void {
  if (index) free(index, load<u32>(index), acct);
}

// @ts-ignore: decorator
@inline function bucketAt(index: usize, hash: u32): usize {
  const buckets = index + INDEX_KINDS + load<u32>(index, INDEX_KEYS) * KINDS_SIZE;
  return buckets + ((<usize>(hash & load<u32>(index, INDEX_MASK))) << 3);
}

// @ts-ignore: decorator
@inline function entryAt(index: usize, slot: u32): usize {
  const buckets = index + INDEX_KINDS + load<u32>(index, INDEX_KEYS) * KINDS_SIZE;
  return buckets + ((<usize>(load<u32>(index, INDEX_MASK) + 1 + slot)) << 3);
}

/** Counts a value of key `k` in or out. */
// @ts-ignore: decorator
@inline export function indexCount(index: usize, k: u32, kind: u32, by: u32): void {
  if (kind == KIND_NULL) return;
  const kinds = index + INDEX_KINDS + k * KINDS_SIZE;
  const at = kinds + (kind << 2);
  const count = load<u32>(at) + by;
  store<u32>(at, count);
  const bit: u32 = 1 << kind;
  store<u32>(kinds, count ? load<u32>(kinds) | bit : load<u32>(kinds) & ~bit);
}

/** Kinds that the values of key `k` have, a bit for each; null has none. */
// @ts-ignore: decorator
@inline export function indexKinds(index: usize, k: u32): u32 {
  return load<u32>(index + INDEX_KINDS + k * KINDS_SIZE);
}

/** Adds the row at position `row`, which is the last; it must have room. */
export function indexAdd(index: usize, row: u32, hash: u32): void {
  const slot = (load<u32>(index, INDEX_OLDEST) + row) & load<u32>(index, INDEX_RING);
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
@inline export function indexFirst(index: usize, hash: u32): u32 {
  return load<u32>(bucketAt(index, hash));
}

/** The slot after `slot` in its bucket, both + 1; 0 none. */
// @ts-ignore: decorator
@inline export function indexNext(index: usize, slot: u32): u32 {
  return load<u32>(entryAt(index, slot - 1));
}

/** Position of the row in the slot (+ 1), or -1 when its keys have another hash. */
// @ts-ignore: decorator
@inline export function indexRow(index: usize, slot: u32, hash: u32): i32 {
  if (load<u32>(entryAt(index, slot - 1), 4) != hash) return -1;
  return <i32>((slot - 1 - load<u32>(index, INDEX_OLDEST)) & load<u32>(index, INDEX_RING));
}

// ---- the right side -------------------------------------------------------------------------------------------

/**
 * Adds a row behind the last one, at the position, which stands in a page. False when it has no room: a larger index
 * must be made.
 */
export function indexAddRow(index: usize, position: u32, page: usize, row: u32): bool {
  if (position > load<u32>(index, INDEX_RING)) return false;
  countRow(index, page, row, 1);
  indexAdd(index, position, rightHash(load<u32>(index, INDEX_SPEC), load<u32>(index, INDEX_STEP), page, row));
  return true;
}

/** Takes the first row out. */
export function indexDropRow(index: usize, page: usize, row: u32): void {
  countRow(index, page, row, -1);
  indexDrop(index);
}

/** Takes the first row out without its kinds. It is the first of its bucket as well. */
export function indexDrop(index: usize): void {
  const oldest = load<u32>(index, INDEX_OLDEST);
  const entry = entryAt(index, oldest);
  const hash = load<u32>(entry, 4);
  if (hash != NO_HASH) store<u32>(bucketAt(index, hash), load<u32>(entry));
  store<u32>(index, (oldest + 1) & load<u32>(index, INDEX_RING), INDEX_OLDEST);
}

function countRow(index: usize, page: usize, row: u32, by: u32): void {
  const spec = <usize>load<u32>(index, INDEX_SPEC);
  const step = <usize>load<u32>(index, INDEX_STEP);
  const keys = load<u32>(index, INDEX_KEYS);
  for (let k: u32 = 0; k < keys; k++) {
    indexCount(index, k, kindOf(pageTag(page, load<u32>(keyAt(spec, step, k), JOIN_KEY_RIGHT), row)), by);
  }
}

// ---- a larger one ---------------------------------------------------------------------------------------------

/** How many rows the index has room for. */
// @ts-ignore: decorator
@inline export function indexRoom(index: usize): u32 {
  return load<u32>(index, INDEX_RING) + 1;
}

/** Makes an index of twice the size, which is to catch up with the other; 0 when memory is exhausted. */
export function indexLarger(index: usize, acct: usize): usize {
  const slots = indexRoom(index) << 1;
  const size = <u64>(INDEX_KINDS + load<u32>(index, INDEX_KEYS) * KINDS_SIZE) + ((<u64>slots) << 4);
  if (slots > 1 << 27 || size > 0x7fffffff) return 0;
  const made = alloc(<u32>size, acct);
  if (!made) return 0;
  memory.copy(made, index, INDEX_KINDS);
  store<u32>(made, <u32>size);
  store<u32>(made, slots - 1, INDEX_MASK);
  store<u32>(made, slots - 1, INDEX_RING);
  store<u32>(made, 0, INDEX_OLDEST);
  store<u32>(made, 0, INDEX_CLEARED);
  return made;
}

/**
 * Brings some rows of the index to the larger one, which has the first `made` of its `count` rows; returns how many it
 * has then.
 */
export function indexCatchUp(larger: usize, index: usize, made: u32, count: u32): u32 {
  const bytes = indexRoom(larger) << 3;
  const cleared = load<u32>(larger, INDEX_CLEARED);
  if (cleared < bytes) {
    const part = min(CLEARED, bytes - cleared);
    memory.fill(larger + INDEX_KINDS + load<u32>(larger, INDEX_KEYS) * KINDS_SIZE + cleared, 0, part);
    store<u32>(larger, cleared + part, INDEX_CLEARED);
    return made;
  }
  const to = min(made + CAUGHT_UP, count);
  for (let row = made; row < to; row++) {
    const slot = (load<u32>(index, INDEX_OLDEST) + row) & load<u32>(index, INDEX_RING);
    indexAdd(larger, row, load<u32>(entryAt(index, slot), 4));
  }
  return to;
}

/** The larger index has all rows of the other, which it takes the place of. */
export function indexReplace(larger: usize, index: usize, acct: usize): void {
  memory.copy(larger + INDEX_KINDS, index + INDEX_KINDS, load<u32>(index, INDEX_KEYS) * KINDS_SIZE);
  indexFree(index, acct);
}
