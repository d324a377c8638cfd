// Elements in order, the first and the last of them, and in none.
import * as ctx from '../../batch/context';
import { Tag, isNull, lenOf, offOf } from '../../mem/layout';
import { poolAlloc } from '../../mem/pool';
import { Cmp, compareValues } from '../../value/compare';
import { kindName } from '../../value/error';
import { textBegin, textLiteral, textTakeError } from '../../value/text';
import { isAbsent, isAbsentAs, isNumeric } from '../numeric';
import { noMemory } from '../result';
import { give, giveNull, map1 } from '../row-loops';
import { giveList, isList, itemAt, itemTag, listRoom } from './items';
import { Operation } from '../../gen/ops-layouts';

// ---- largest, smallest -----------------------------------------------------------------------------------------

function giveUnordered(tagA: u8, tagB: u8): void {
  textBegin();
  textLiteral('elements of type ');
  textLiteral(kindName(tagA));
  if (tagA != tagB) {
    textLiteral(' and ');
    textLiteral(kindName(tagB));
  }
  textLiteral(' have no order');
  give(Tag.ERROR, textTakeError());
}

// @ts-ignore: decorator
@inline function extreme(tag: u8, val: u64, wanted: i32): void {
  if (isAbsent(tag, val)) {
    giveNull();
    return;
  }
  if (!isList(1, tag, val)) return;
  let bestTag: u8 = Tag.NULL;
  let best: u64 = 0;
  for (let i: u32 = 0; i < lenOf(val); i++) {
    const slot = itemAt(val, i);
    const itemsTag = itemTag(slot);
    const item = load<u64>(slot);
    if (isNull(itemsTag)) continue;
    const hasOrder = isNumeric(itemsTag) || itemsTag == Tag.STR || itemsTag == Tag.TIME;
    const isSame = isNull(bestTag) || bestTag == itemsTag || (isNumeric(bestTag) && isNumeric(itemsTag));
    if (!hasOrder || !isSame) {
      giveUnordered(isNull(bestTag) ? itemsTag : bestTag, itemsTag);
      return;
    }
    if (isNull(bestTag) || compareValues(itemsTag, item, bestTag, best) == wanted) {
      bestTag = itemsTag;
      best = item;
    }
  }
  give(bestTag, best);
}

export function listMax(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => extreme(tag, val, 1));
}

export function listMin(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => extreme(tag, val, -1));
}

// ---- sort ----------------------------------------------------------------------------------------------------

/** Place of a kind among the others. */
function rankOf(tag: u8): u32 {
  if (isNumeric(tag)) return 0;
  switch (tag) {
    case Tag.BOOL:
      return 1;
    case Tag.STR:
      return 2;
    case Tag.TIME:
      return 3;
    case Tag.BYTES:
      return 4;
    case Tag.ARRAY:
    case Tag.OBJECT:
      return 5;
    default:
      return 6;
  }
}

/** The element at b belongs before that at a. */
function isBehind(a: usize, b: usize): bool {
  const tagA = itemTag(a);
  const tagB = itemTag(b);
  const rank = rankOf(tagA);
  const other = rankOf(tagB);
  if (rank != other) return rank > other;
  if (rank >= 5) return false;
  const order = compareValues(tagA, load<u64>(a), tagB, load<u64>(b));
  // Values that are no numbers stand behind all numbers.
  if (order == Cmp.UNORDERED) return tagA == Tag.F64 && isNaN(reinterpret<f64>(load<u64>(a))) && !isNotNumber(b);
  return order == 1;
}

// @ts-ignore: decorator
@inline function isNotNumber(slot: usize): bool {
  return itemTag(slot) == Tag.F64 && isNaN(load<f64>(slot));
}

/** Merges the runs [from, middle) and [middle, end), in slots, of `source` into `target`. */
function mergeRuns(source: usize, target: usize, from: u32, middle: u32, end: u32): void {
  let a = source + ((<usize>from) << 4);
  const aEnd = source + ((<usize>middle) << 4);
  let b = aEnd;
  const bEnd = source + ((<usize>end) << 4);
  let to = target + ((<usize>from) << 4);
  for (; a < aEnd && b < bEnd; to += 16) {
    if (isBehind(a, b)) {
      memory.copy(to, b, 16);
      b += 16;
    } else {
      memory.copy(to, a, 16);
      a += 16;
    }
  }
  memory.copy(to, a, aEnd - a);
  memory.copy(to + (aEnd - a), b, bEnd - b);
}

export function listSort(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    if (isAbsentAs(Tag.ARRAY, tag, val)) {
      giveNull();
      return;
    }
    if (!isList(1, tag, val)) return;
    const n = lenOf(val);
    let from = listRoom('array_sort', n);
    if (!from) return;
    let to = poolAlloc(ctx.scratch, n << 4);
    if (!to) {
      give(Tag.ERROR, noMemory('array_sort'));
      return;
    }
    memory.copy(from, offOf(val), (<usize>n) << 4);
    for (let width: u32 = 1; width < n; width <<= 1) {
      for (let at: u32 = 0; at < n; at += width << 1) {
        mergeRuns(from, to, at, min(at + width, n), min(at + (width << 1), n));
      }
      const swapped = from;
      from = to;
      to = swapped;
    }
    ctx.addWork(n >> 3);
    giveList('array_sort', from, n, false);
  });
}

// ---- shuffle ---------------------------------------------------------------------------------------------------

let state: u64 = 0;

/**
 * Next of a row of numbers that differs from batch to batch (SplitMix64); good for games of chance, not for secrets.
 */
function randomNumber(): u64 {
  state += 0x9e3779b97f4a7c15;
  let z = state ^ reinterpret<u64>(ctx.nowMs);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

export function listShuffle(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    if (isAbsentAs(Tag.ARRAY, tag, val)) {
      giveNull();
      return;
    }
    const n = lenOf(val);
    const to = isList(1, tag, val) ? listRoom('array_shuffle', n) : 0;
    if (!to) return;
    memory.copy(to, offOf(val), (<usize>n) << 4);
    for (let i = n; i > 1; i--) {
      const other = to + ((<usize>(randomNumber() % i)) << 4);
      const last = to + ((<usize>(i - 1)) << 4);
      const payload = load<u64>(last);
      const kind = load<u64>(last, 8);
      memory.copy(last, other, 16);
      store<u64>(other, payload);
      store<u64>(other, kind, 8);
    }
    giveList('array_shuffle', to, n, false);
  });
}
