// The nearest of many vectors.
import {
  MEMBER_KEY_LEN,
  MEMBER_KEY_OFF,
  MEMBER_SIZE,
  MEMBER_TAG,
  SLOT_SIZE,
  Tag,
  lenOf,
  offOf,
  span,
} from '../../mem/layout';
import { isAbsent, isAbsentAs } from '../numeric';
import { bytesCompare } from '../../value/bytes';
import { giveList, giveWrong, isList, itemAt, itemTag, putItem } from '../list/items';
import { findMember } from '../nested/access';
import { resultRoom } from '../result';
import { give, giveNull, map3 } from '../row-loops';
import { count, isCount } from '../string/text-of';
import { cosine, measure } from './pairs';
import { Operation } from '../../gen/ops-layouts';

// similarity, embedding, vector: names of members, with room to be read in blocks.
const SIMILARITY: usize = memory.data<u8>(
  [0x73, 0x69, 0x6d, 0x69, 0x6c, 0x61, 0x72, 0x69, 0x74, 0x79, 0, 0, 0, 0, 0, 0],
  16,
);
const EMBEDDING: usize = memory.data<u8>(
  [0x65, 0x6d, 0x62, 0x65, 0x64, 0x64, 0x69, 0x6e, 0x67, 0, 0, 0, 0, 0, 0, 0],
  16,
);
const VECTOR: usize = memory.data<u8>([0x76, 0x65, 0x63, 0x74, 0x6f, 0x72, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 16);
const SIMILARITY_LEN: u32 = 10;
const EMBEDDING_LEN: u32 = 9;
const VECTOR_LEN: u32 = 6;

/** Similarity of the vector and a candidate: a vector, or an object with one; NaN when there is none. */
function similarityOf(tag: u8, vector: u64, slot: usize): f64 {
  let kind = itemTag(slot);
  let candidate = load<u64>(slot);
  if (kind == Tag.OBJECT) {
    let member = findMember(candidate, VECTOR, VECTOR_LEN);
    if (!member) member = findMember(candidate, EMBEDDING, EMBEDDING_LEN);
    if (!member) return NaN;
    kind = load<u8>(member, MEMBER_TAG);
    candidate = load<u64>(member);
  }
  return measure(tag, vector, kind, candidate) ? cosine() : NaN;
}

function putMember(at: usize, key: usize, len: u32, tag: u8, val: u64): void {
  store<u64>(at, val);
  store<u32>(at, <u32>tag, MEMBER_TAG);
  store<u32>(at, len, MEMBER_KEY_LEN);
  store<u64>(at, <u64>key, MEMBER_KEY_OFF);
}

/** The candidate as an object with its similarity: its own members, or the vector as one; 0 when there is no room. */
function matchOf(slot: usize, similarity: f64): u64 {
  const isObject = itemTag(slot) == Tag.OBJECT;
  const n = isObject ? lenOf(load<u64>(slot)) : 1;
  const to = resultRoom('vector_match', (<u64>n + 1) * MEMBER_SIZE);
  if (!to) return 0;
  const bits = reinterpret<u64>(similarity);
  if (!isObject) {
    putMember(to, SIMILARITY, SIMILARITY_LEN, Tag.F64, bits);
    putMember(to + MEMBER_SIZE, VECTOR, VECTOR_LEN, itemTag(slot), load<u64>(slot));
    return span(to, 2);
  }
  let at = to;
  let isPut = false;
  let member = offOf(load<u64>(slot));
  for (let i: u32 = 0; i < n; i++, member += MEMBER_SIZE) {
    const order = bytesCompare(
      <usize>load<u32>(member, MEMBER_KEY_OFF),
      load<u32>(member, MEMBER_KEY_LEN),
      SIMILARITY,
      SIMILARITY_LEN,
    );
    if (!isPut && order >= 0) {
      putMember(at, SIMILARITY, SIMILARITY_LEN, Tag.F64, bits);
      at += MEMBER_SIZE;
      isPut = true;
    }
    if (order == 0) continue;
    memory.copy(at, member, MEMBER_SIZE);
    at += MEMBER_SIZE;
  }
  if (!isPut) {
    putMember(at, SIMILARITY, SIMILARITY_LEN, Tag.F64, bits);
    at += MEMBER_SIZE;
  }
  return span(to, <u32>(at - to) / MEMBER_SIZE);
}

export function vectorMatch(op: Operation): void {
  map3(op, (tagA: u8, a: u64, tagB: u8, b: u64, tagC: u8, c: u64): void => {
    if (tagB == Tag.ERROR || tagC == Tag.ERROR) {
      give(Tag.ERROR, tagB == Tag.ERROR ? b : c);
    } else if (isAbsentAs(Tag.ARRAY, tagA, a) || isAbsentAs(Tag.ARRAY, tagB, b) || isAbsent(tagC, c)) {
      giveNull();
    } else if (!isCount(tagC, c) || count < 1) {
      giveWrong(3, 'a whole number, 1 or more', tagC, c);
    } else if (isList(1, tagA, a) && isList(2, tagB, b)) {
      giveNearest(tagA, a, b, <u32>min(count, <i64>lenOf(b)));
    }
  });
}

// The best candidates so far: a heap whose first entry is the worst of them.
//
//   entry   similarity f64 | address of the candidate u64

/** The entry at a is worse than that at b: less similar, or as similar and behind it. */
// @ts-ignore: decorator
@inline function isWorse(a: usize, b: usize): bool {
  const x = load<f64>(a);
  const y = load<f64>(b);
  return x < y || (x == y && load<u64>(a, 8) > load<u64>(b, 8));
}

const HELD: usize = memory.data(16, 16);

/**
 * Puts the entry at HELD into the heap of `n` entries from the place `from` on, which is free, down to where it
 * belongs.
 */
function sink(heap: usize, from: u32, n: u32): void {
  let i = from;
  for (;;) {
    let child = (i << 1) + 1;
    if (child >= n) break;
    if (child + 1 < n && isWorse(heap + (child + 1) * SLOT_SIZE, heap + child * SLOT_SIZE)) child++;
    if (!isWorse(heap + child * SLOT_SIZE, HELD)) break;
    memory.copy(heap + i * SLOT_SIZE, heap + child * SLOT_SIZE, SLOT_SIZE);
    i = child;
  }
  memory.copy(heap + i * SLOT_SIZE, HELD, SLOT_SIZE);
}

/** Takes the entry at HELD into a heap that has room for it. */
function rise(heap: usize, n: u32): void {
  let i = n;
  while (i > 0) {
    const parent = (i - 1) >> 1;
    if (!isWorse(HELD, heap + parent * SLOT_SIZE)) break;
    memory.copy(heap + i * SLOT_SIZE, heap + parent * SLOT_SIZE, SLOT_SIZE);
    i = parent;
  }
  memory.copy(heap + i * SLOT_SIZE, HELD, SLOT_SIZE);
}

/** Gives the `most` nearest candidates; of equally near ones those that come first. */
function giveNearest(tag: u8, vector: u64, candidates: u64, most: u32): void {
  const best = resultRoom('vector_match', <u64>most * SLOT_SIZE);
  if (!best) return;
  let n: u32 = 0;
  for (let i: u32 = 0; i < lenOf(candidates); i++) {
    const slot = itemAt(candidates, i);
    const similarity = similarityOf(tag, vector, slot);
    if (isNaN(similarity)) continue;
    store<f64>(HELD, similarity);
    store<u64>(HELD, <u64>slot, 8);
    if (n < most) rise(best, n++);
    else if (isWorse(best, HELD)) sink(best, 0, n);
  }
  // The worst goes to the end, again and again.
  for (let end = n; end > 1; end--) {
    const last = best + (end - 1) * SLOT_SIZE;
    memory.copy(HELD, last, SLOT_SIZE);
    memory.copy(last, best, SLOT_SIZE);
    sink(best, 0, end - 1);
  }
  for (let i: u32 = 0; i < n; i++) {
    const at = best + i * SLOT_SIZE;
    const match = matchOf(<usize>load<u64>(at, 8), load<f64>(at));
    if (!match) return;
    putItem(at, Tag.OBJECT, match);
  }
  giveList('vector_match', best, n, true);
}
