// The nearest of many vectors.
import {
  MEMBER_KEY_LEN, MEMBER_KEY_OFF, MEMBER_SIZE, MEMBER_TAG, SLOT_SIZE, Tag, lenOf, offOf, span,
} from '../../mem/layout';
import { bytesCompare } from '../../value/bytes';
import { giveList, giveWrong, isList, itemAt, itemTag, putItem } from '../list/items';
import { findMember } from '../nested/access';
import { isAbsent } from '../numeric';
import { resultRoom } from '../result';
import { give, giveNull, map3 } from '../row-loops';
import { count, isCount } from '../string/text-of';
import { cosine, measure } from './pairs';

// similarity, embedding, vector: names of members, with room to be read in blocks.
const SIMILARITY: usize = memory.data<u8>([0x73, 0x69, 0x6d, 0x69, 0x6c, 0x61, 0x72, 0x69, 0x74, 0x79, 0, 0, 0, 0, 0, 0], 16);
const EMBEDDING: usize = memory.data<u8>([0x65, 0x6d, 0x62, 0x65, 0x64, 0x64, 0x69, 0x6e, 0x67, 0, 0, 0, 0, 0, 0, 0], 16);
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
      <usize>load<u32>(member, MEMBER_KEY_OFF), load<u32>(member, MEMBER_KEY_LEN), SIMILARITY, SIMILARITY_LEN,
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

export function vectorMatch(op: usize): void {
  map3(op, (tagA: u8, a: u64, tagB: u8, b: u64, tagC: u8, c: u64): void => {
    if (tagB == Tag.ERROR || tagC == Tag.ERROR) {
      give(Tag.ERROR, tagB == Tag.ERROR ? b : c);
    } else if (isAbsent(tagA, a) || isAbsent(tagB, b) || isAbsent(tagC, c)) {
      giveNull();
    } else if (!isCount(tagC, c) || count < 1) {
      giveWrong(3, 'a whole number, 1 or more', tagC, c);
    } else if (isList(1, tagA, a) && isList(2, tagB, b)) {
      giveNearest(tagA, a, b, <u32>min(count, <i64>lenOf(b)));
    }
  });
}

/** Gives the `most` nearest candidates; of equally near ones those that come first. */
function giveNearest(tag: u8, vector: u64, candidates: u64, most: u32): void {
  // The best so far, the best first: similarity f64 | address of the candidate.
  const best = resultRoom('vector_match', <u64>most * SLOT_SIZE);
  if (!best) return;
  let n: u32 = 0;
  for (let i: u32 = 0; i < lenOf(candidates); i++) {
    const slot = itemAt(candidates, i);
    const similarity = similarityOf(tag, vector, slot);
    if (isNaN(similarity) || (n == most && load<f64>(best + (n - 1) * SLOT_SIZE) >= similarity)) continue;
    let low: u32 = 0;
    let high = n;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (load<f64>(best + mid * SLOT_SIZE) >= similarity) low = mid + 1;
      else high = mid;
    }
    if (n < most) n++;
    const at = best + low * SLOT_SIZE;
    memory.copy(at + SLOT_SIZE, at, (n - 1 - low) * SLOT_SIZE);
    store<f64>(at, similarity);
    store<u64>(at, <u64>slot, 8);
  }
  for (let i: u32 = 0; i < n; i++) {
    const at = best + i * SLOT_SIZE;
    const match = matchOf(<usize>load<u64>(at, 8), load<f64>(at));
    if (!match) return;
    putItem(at, Tag.OBJECT, match);
  }
  giveList('vector_match', best, n, true);
}
