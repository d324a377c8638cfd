// Records of a table by the hash of the values under some names: one index for the key of the table, further ones for
// what rules look up by, made when the first of them comes and shared by all that look up by the same names. A bucket
// lists its records in the order in which they came. A record that has none of the values, or a nested one, is not in
// the index.
//
//   index   0   next u32 (of the table) | users u32 | size u32 | names u32 (count)
//           16  mask u32 (buckets - 1) | buckets u32 -> {first u32, last u32}[mask + 1]                 slots + 1, 0
//           none
//           24  links u32 -> {next u32, previous u32, hash u32}[capacity] by slot | capacity u32
//           32  count u32 | 0 u32
//           40  {off u32, len u32, serial u32 (of the shape looked at last), place i32}[names] | names
import { alloc, allocZeroed, free } from '../mem/alloc';
import { Tag } from '../mem/layout';
import { bytesEqual } from '../value/bytes';
import { equalValues } from '../value/compare';
import { NO_HASH, hashAdd, hashDone } from '../value/equal-hash';
import { recordShape, recordTag, recordVal } from './record';
import { shapeFind, shapeSerial } from './shape';

const INDEX_USERS: usize = 4;
const INDEX_SIZE: usize = 8;
const INDEX_NAMES: usize = 12;
const INDEX_MASK: usize = 16;
const INDEX_BUCKETS: usize = 20;
const INDEX_LINKS: usize = 24;
const INDEX_CAPACITY: usize = 28;
const INDEX_COUNT: usize = 32;
const INDEX_NAME: u32 = 40;
const NAME_SIZE: u32 = 16;
const LINK_SIZE: u32 = 12;
const LINK_PREVIOUS: usize = 4;
const LINK_HASH: usize = 8;
const FIRST_BUCKETS: u32 = 16;
const MAX_BUCKETS: u32 = 1 << 27;

/** An index without records by `count` names, at {address u32, length u32} each; 0 when memory is exhausted. */
export function indexNew(names: usize, count: u32, capacity: u32, acct: usize): usize {
  let size = INDEX_NAME + count * NAME_SIZE;
  for (let i: u32 = 0; i < count; i++) size += load<u32>(names + ((<usize>i) << 3), 4);
  const index = allocZeroed(size, acct);
  if (!index) return 0;
  store<u32>(index, size, INDEX_SIZE);
  store<u32>(index, count, INDEX_NAMES);
  store<u32>(index, FIRST_BUCKETS - 1, INDEX_MASK);
  let to = index + INDEX_NAME + <usize>(count * NAME_SIZE);
  for (let i: u32 = 0; i < count; i++) {
    const len = load<u32>(names + ((<usize>i) << 3), 4);
    const name = nameAt(index, i);
    memory.copy(to, <usize>load<u32>(names + ((<usize>i) << 3)), len);
    store<u32>(name, <u32>to);
    store<u32>(name, len, 4);
    to += len;
  }
  store<u32>(index, <u32>allocZeroed(FIRST_BUCKETS << 3, acct), INDEX_BUCKETS);
  if (load<u32>(index, INDEX_BUCKETS) && indexReserve(index, capacity, acct)) return index;
  indexFree(index, acct);
  return 0;
}

export function indexFree(index: usize, acct: usize): void {
  if (!index) return;
  free(<usize>load<u32>(index, INDEX_BUCKETS), (load<u32>(index, INDEX_MASK) + 1) << 3, acct);
  free(<usize>load<u32>(index, INDEX_LINKS), load<u32>(index, INDEX_CAPACITY) * LINK_SIZE, acct);
  free(index, load<u32>(index, INDEX_SIZE), acct);
}

/** Makes room for that many slots; false when memory is exhausted. */
export function indexReserve(index: usize, capacity: u32, acct: usize): bool {
  const before = load<u32>(index, INDEX_CAPACITY);
  if (capacity <= before) return true;
  const links = alloc(capacity * LINK_SIZE, acct);
  if (!links) return false;
  const old = <usize>load<u32>(index, INDEX_LINKS);
  if (old) memory.copy(links, old, before * LINK_SIZE);
  free(old, before * LINK_SIZE, acct);
  store<u32>(index, <u32>links, INDEX_LINKS);
  store<u32>(index, capacity, INDEX_CAPACITY);
  return true;
}

// @ts-ignore: decorator
@inline export function indexNext(index: usize): usize {
  return <usize>load<u32>(index);
}

// @ts-ignore: decorator
@inline export function setIndexNext(index: usize, next: usize): void {
  store<u32>(index, <u32>next);
}

/** Counts one who looks up by the index in or out; returns how many are left. */
export function indexUse(index: usize, by: i32): u32 {
  const users = load<u32>(index, INDEX_USERS) + by;
  store<u32>(index, users, INDEX_USERS);
  return users;
}

/** The index is by these names, in this order. */
export function indexIsBy(index: usize, names: usize, count: u32): bool {
  if (load<u32>(index, INDEX_NAMES) != count) return false;
  for (let i: u32 = 0; i < count; i++) {
    const name = nameAt(index, i);
    const len = load<u32>(names + ((<usize>i) << 3), 4);
    if (
      load<u32>(name, 4) != len ||
      !bytesEqual(<usize>load<u32>(name), <usize>load<u32>(names + ((<usize>i) << 3)), len)
    )
      return false;
  }
  return true;
}

// @ts-ignore: decorator
@inline function nameAt(index: usize, i: u32): usize {
  return index + INDEX_NAME + <usize>(i * NAME_SIZE);
}

// @ts-ignore: decorator
@inline function bucketAt(index: usize, hash: u32): usize {
  return <usize>load<u32>(index, INDEX_BUCKETS) + ((<usize>(hash & load<u32>(index, INDEX_MASK))) << 3);
}

// @ts-ignore: decorator
@inline function linkAt(index: usize, slot: u32): usize {
  return <usize>load<u32>(index, INDEX_LINKS) + <usize>(slot * LINK_SIZE);
}

/** Place in the record of the value under name `i`, -1 none. */
// @ts-ignore: decorator
@inline export function indexPlace(index: usize, i: u32, record: usize): i32 {
  const name = nameAt(index, i);
  const shape = recordShape(record);
  if (load<u32>(name, 8) == shapeSerial(shape)) return load<i32>(name, 12);
  const place = shapeFind(shape, <usize>load<u32>(name), load<u32>(name, 4));
  store<u32>(name, shapeSerial(shape), 8);
  store<i32>(name, place, 12);
  return place;
}

/** True for values that rows can be looked up by. */
// @ts-ignore: decorator
@inline export function isKey(tag: u8): bool {
  return tag > Tag.NULL && tag != Tag.ARRAY && tag != Tag.OBJECT && tag != Tag.ERROR;
}

/** Hash of the record's values; NO_HASH when one of them is no key. */
function indexHash(index: usize, record: usize): u32 {
  const count = load<u32>(index, INDEX_NAMES);
  let hash: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const place = indexPlace(index, i, record);
    if (place < 0) return NO_HASH;
    const tag = recordTag(record, place);
    if (!isKey(tag)) return NO_HASH;
    hash = hashAdd(hash, tag, recordVal(record, place));
  }
  return hashDone(hash);
}

/** The record has this value under name `i`. */
export function indexEquals(index: usize, i: u32, record: usize, tag: u8, val: u64): bool {
  const place = indexPlace(index, i, record);
  return (
    place >= 0 &&
    recordTag(record, place) > Tag.NULL &&
    equalValues(recordTag(record, place), recordVal(record, place), tag, val)
  );
}

/** Adds the record of a slot for which there is room. */
export function indexAdd(index: usize, slot: u32, record: usize): void {
  const hash = indexHash(index, record);
  const link = linkAt(index, slot);
  store<u32>(link, 0);
  store<u32>(link, hash, LINK_HASH);
  if (hash == NO_HASH) return;
  chain(index, slot, link, hash);
  store<u32>(index, load<u32>(index, INDEX_COUNT) + 1, INDEX_COUNT);
}

function chain(index: usize, slot: u32, link: usize, hash: u32): void {
  const bucket = bucketAt(index, hash);
  const last = load<u32>(bucket, 4);
  store<u32>(link, last, LINK_PREVIOUS);
  if (last) store<u32>(linkAt(index, last - 1), slot + 1);
  else store<u32>(bucket, slot + 1);
  store<u32>(bucket, slot + 1, 4);
}

/** Takes the slot out. */
export function indexRemove(index: usize, slot: u32): void {
  const link = linkAt(index, slot);
  const hash = load<u32>(link, LINK_HASH);
  if (hash == NO_HASH) return;
  const bucket = bucketAt(index, hash);
  const next = load<u32>(link);
  const previous = load<u32>(link, LINK_PREVIOUS);
  if (previous) store<u32>(linkAt(index, previous - 1), next);
  else store<u32>(bucket, next);
  if (next) store<u32>(linkAt(index, next - 1), previous, LINK_PREVIOUS);
  else store<u32>(bucket, previous, 4);
  store<u32>(index, load<u32>(index, INDEX_COUNT) - 1, INDEX_COUNT);
}

/**
 * True when buckets have become long: `indexWiden` is to be called and all slots to be chained again, in their order.
 */
// @ts-ignore: decorator
@inline export function indexIsCrowded(index: usize): bool {
  const mask = load<u32>(index, INDEX_MASK);
  return load<u32>(index, INDEX_COUNT) > mask && mask + 1 < MAX_BUCKETS;
}

/**
 * Empties the index into four times as many buckets; false, and nothing has changed, when there is no memory for them.
 */
export function indexWiden(index: usize, acct: usize): bool {
  const before = load<u32>(index, INDEX_MASK) + 1;
  const after = min(before << 2, MAX_BUCKETS);
  const buckets = allocZeroed(after << 3, acct);
  if (!buckets) return false;
  free(<usize>load<u32>(index, INDEX_BUCKETS), before << 3, acct);
  store<u32>(index, <u32>buckets, INDEX_BUCKETS);
  store<u32>(index, after - 1, INDEX_MASK);
  return true;
}

/** Makes buckets for so many records of an empty index, as far as there is memory. */
export function indexFit(index: usize, records: u32, acct: usize): void {
  while (load<u32>(index, INDEX_MASK) + 1 < min(records, MAX_BUCKETS) && indexWiden(index, acct)) continue;
}

/** Chains a slot again after `indexWiden`. */
export function indexChain(index: usize, slot: u32): void {
  const link = linkAt(index, slot);
  const hash = load<u32>(link, LINK_HASH);
  store<u32>(link, 0);
  if (hash != NO_HASH) chain(index, slot, link, hash);
}

/** First slot + 1 of the bucket of a hash, 0 none. */
// @ts-ignore: decorator
@inline export function indexFirst(index: usize, hash: u32): u32 {
  return load<u32>(bucketAt(index, hash));
}

/** The slot after `slot` in its bucket, both + 1; 0 none. */
// @ts-ignore: decorator
@inline export function indexAfter(index: usize, slot: u32): u32 {
  return load<u32>(linkAt(index, slot - 1));
}

/** The slot (+ 1) has this hash. */
// @ts-ignore: decorator
@inline export function indexHasHash(index: usize, slot: u32, hash: u32): bool {
  return load<u32>(linkAt(index, slot - 1), LINK_HASH) == hash;
}
