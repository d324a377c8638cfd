// Records of a table by the hash of the values under some names. A table has one index by its key, and further ones by
// the names that rules look up by: each is made for the first of these rules, and shared by all with the same names. A
// bucket lists its records in the order in which they came. A record that has none of the values, or a nested one, is
// not in the index.
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
import { Record, recordShape, recordTag, recordVal } from './record';
import { shapeFind, shapeSerial } from './shape';

/** An index by the values of some names. */
// @ts-ignore: decorator
@unmanaged
export class NamesIndex {
  private gap0: u32;
  users: u32;
  size: u32;
  names: u32;
  mask: u32;
  buckets: usize;
  links: usize;
  capacity: u32;
  count: u32;
  private gap36: u32;
  name: u32;
}

const NAME_SIZE: u32 = 16;
const LINK_SIZE: u32 = 12;
/** Place of a row in an index. */
// @ts-ignore: decorator
@unmanaged
class Link {
  next: u32;
  previous: u32;
  hash: u32;
}

const FIRST_BUCKETS: u32 = 16;
const MAX_BUCKETS: u32 = 1 << 27;

/** An index without records by `count` names, at {address u32, length u32} each; 0 when memory is exhausted. */
export function indexNew(names: usize, count: u32, capacity: u32, acct: usize): NamesIndex {
  let size = offsetof<NamesIndex>('name') + count * NAME_SIZE;
  for (let i: u32 = 0; i < count; i++) size += load<u32>(names + ((<usize>i) << 3), 4);
  const index = changetype<NamesIndex>(allocZeroed(size, acct));
  if (!index) return changetype<NamesIndex>(0);
  index.size = size;
  index.names = count;
  index.mask = FIRST_BUCKETS - 1;
  let to = changetype<usize>(index) + offsetof<NamesIndex>('name') + <usize>(count * NAME_SIZE);
  for (let i: u32 = 0; i < count; i++) {
    const len = load<u32>(names + ((<usize>i) << 3), 4);
    const name = nameAt(index, i);
    memory.copy(to, <usize>load<u32>(names + ((<usize>i) << 3)), len);
    store<u32>(name, <u32>to);
    store<u32>(name, len, 4);
    to += len;
  }
  index.buckets = allocZeroed(FIRST_BUCKETS << 3, acct);
  if (index.buckets && indexReserve(index, capacity, acct)) return index;
  indexFree(index, acct);
  return changetype<NamesIndex>(0);
}

export function indexFree(index: NamesIndex, acct: usize): void {
  if (!index) return;
  free(index.buckets, (index.mask + 1) << 3, acct);
  free(index.links, index.capacity * LINK_SIZE, acct);
  free(changetype<usize>(index), index.size, acct);
}

/** Makes room for that many slots; false when memory is exhausted. */
export function indexReserve(index: NamesIndex, capacity: u32, acct: usize): bool {
  const before = index.capacity;
  if (capacity <= before) return true;
  const links = alloc(capacity * LINK_SIZE, acct);
  if (!links) return false;
  const old = index.links;
  if (old) memory.copy(links, old, before * LINK_SIZE);
  free(old, before * LINK_SIZE, acct);
  index.links = links;
  index.capacity = capacity;
  return true;
}

// @ts-ignore: decorator
@inline export function indexNext(index: NamesIndex): NamesIndex {
  return changetype<NamesIndex>(load<u32>(changetype<usize>(index)));
}

// @ts-ignore: decorator
@inline export function setIndexNext(index: NamesIndex, next: NamesIndex): void {
  store<u32>(changetype<usize>(index), changetype<u32>(next));
}

/** Counts one who looks up by the index in or out; returns how many are left. */
export function indexUse(index: NamesIndex, by: i32): u32 {
  const users = index.users + by;
  index.users = users;
  return users;
}

/** True when the index is by these names, in this order. */
export function indexIsBy(index: NamesIndex, names: usize, count: u32): bool {
  if (index.names != count) return false;
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
@inline function nameAt(index: NamesIndex, i: u32): usize {
  return changetype<usize>(index) + offsetof<NamesIndex>('name') + <usize>(i * NAME_SIZE);
}

// @ts-ignore: decorator
@inline function bucketAt(index: NamesIndex, hash: u32): usize {
  return index.buckets + ((<usize>(hash & index.mask)) << 3);
}

// @ts-ignore: decorator
@inline function linkAt(index: NamesIndex, slot: u32): Link {
  return changetype<Link>(index.links + <usize>(slot * LINK_SIZE));
}

/** Place in the record of the value under name `i`, -1 none. */
// @ts-ignore: decorator
@inline export function indexPlace(index: NamesIndex, i: u32, record: Record): i32 {
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
function indexHash(index: NamesIndex, record: Record): u32 {
  const count = index.names;
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

/** True when the record has this value under name `i`. */
export function indexEquals(index: NamesIndex, i: u32, record: Record, tag: u8, val: u64): bool {
  const place = indexPlace(index, i, record);
  return (
    place >= 0 &&
    recordTag(record, place) > Tag.NULL &&
    equalValues(recordTag(record, place), recordVal(record, place), tag, val)
  );
}

/** Adds the record of a slot for which there is room. */
export function indexAdd(index: NamesIndex, slot: u32, record: Record): void {
  const hash = indexHash(index, record);
  const link = linkAt(index, slot);
  link.next = 0;
  link.hash = hash;
  if (hash == NO_HASH) return;
  chain(index, slot, link, hash);
  index.count++;
}

function chain(index: NamesIndex, slot: u32, link: Link, hash: u32): void {
  const bucket = bucketAt(index, hash);
  const last = load<u32>(bucket, 4);
  link.previous = last;
  if (last) linkAt(index, last - 1).next = slot + 1;
  else store<u32>(bucket, slot + 1);
  store<u32>(bucket, slot + 1, 4);
}

/** Takes the slot out. */
export function indexRemove(index: NamesIndex, slot: u32): void {
  const link = linkAt(index, slot);
  const hash = link.hash;
  if (hash == NO_HASH) return;
  const bucket = bucketAt(index, hash);
  const next = link.next;
  const previous = link.previous;
  if (previous) linkAt(index, previous - 1).next = next;
  else store<u32>(bucket, next);
  if (next) linkAt(index, next - 1).previous = previous;
  else store<u32>(bucket, previous, 4);
  index.count--;
}

/**
 * True when buckets have become long: `indexWiden` is to be called and all slots to be chained again, in their order.
 */
// @ts-ignore: decorator
@inline export function indexIsCrowded(index: NamesIndex): bool {
  const mask = index.mask;
  return index.count > mask && mask + 1 < MAX_BUCKETS;
}

/**
 * Empties the index into four times as many buckets; false, and nothing has changed, when there is no memory for them.
 */
export function indexWiden(index: NamesIndex, acct: usize): bool {
  const before = index.mask + 1;
  const after = min(before << 2, MAX_BUCKETS);
  const buckets = allocZeroed(after << 3, acct);
  if (!buckets) return false;
  free(index.buckets, before << 3, acct);
  index.buckets = buckets;
  index.mask = after - 1;
  return true;
}

/** Makes buckets for `records` records of an empty index, as far as there is memory. */
export function indexFit(index: NamesIndex, records: u32, acct: usize): void {
  while (index.mask + 1 < min(records, MAX_BUCKETS) && indexWiden(index, acct)) continue;
}

/** Chains a slot again after `indexWiden`. */
export function indexChain(index: NamesIndex, slot: u32): void {
  const link = linkAt(index, slot);
  const hash = link.hash;
  link.next = 0;
  if (hash != NO_HASH) chain(index, slot, link, hash);
}

/** First slot + 1 of the bucket of a hash, 0 none. */
// @ts-ignore: decorator
@inline export function indexFirst(index: NamesIndex, hash: u32): u32 {
  return load<u32>(bucketAt(index, hash));
}

/** The slot after `slot` in its bucket, both + 1; 0 none. */
// @ts-ignore: decorator
@inline export function indexAfter(index: NamesIndex, slot: u32): u32 {
  return linkAt(index, slot - 1).next;
}

/** True when the slot (+ 1) has this hash. */
// @ts-ignore: decorator
@inline export function indexHasHash(index: NamesIndex, slot: u32, hash: u32): bool {
  return linkAt(index, slot - 1).hash == hash;
}
