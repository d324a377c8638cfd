// Which filters of a part a batch may pass: their places in the lists (emit/lists.ts) are marked, value by value.
//
// A filter is called when a row may pass it, or may fail at it. It is asked as well, and decides for itself, unless the
// batch is one row and the table is exact for its values.
import {
  ABOVE,
  BELOW,
  EQUAL,
  INTERVAL,
  ORDERS,
  PREFIX,
  SORTED,
  STRICT,
  TEXT,
  WHOLE,
  columnOfGuard,
  doubleKey,
  isFit,
  textKey,
  wholeKey,
} from './terms';
import { NO_LINK, beginsWith, highOf, isBelow, keyAt, linkOf, textOrder } from './lists';
import * as ctx from '../batch/context';
import { noteEdge } from '../node/tallies';
import { CHOICE_TABLE_SIZE_OF, ChoicePart, ChoiceTable } from '../gen/emit-layouts';
import { COL_TAGS, COL_VALS, Tag, isNull } from '../mem/layout';

/** More rows are not looked up where each of them marks a range. */
const MANY_RANGES: u32 = 16;

/** Marked filters have to decide for themselves. */
let isAsking: bool = false;

/** Marks the filters that the current batch may pass, or fail at. */
export function markPart(part: ChoicePart): void {
  for (let i: u32 = 0; i < part.tables; i++) {
    const table = changetype<ChoiceTable>(part.table + i * CHOICE_TABLE_SIZE_OF);
    isAsking = ctx.selLen > 1;
    if (fits(table.guards)) markTable(part, table);
    else markAll(part, table);
  }
}

/** True when no row fails at a comparison that stands before those of the table. */
// @ts-ignore: decorator
@inline function fits(guards: u64): bool {
  for (; guards; guards >>= 16) if (!isColumnFit(<u32>(guards & 0xffff))) return false;
  return true;
}

function isColumnFit(guard: u32): bool {
  const tags = <usize>load<u32>(ctx.cols + ((<usize>columnOfGuard(guard)) << 2)) + COL_TAGS;
  const n = ctx.selLen;
  for (let i: u32 = 0; i < n; i++) {
    if (!isFit(guard, load<u8>(tags + load<u32>(ctx.sel + ((<usize>i) << 2))))) return false;
  }
  return true;
}

function markAll(part: ChoicePart, table: ChoiceTable): void {
  isAsking = true;
  markRange(part, table.begin, table.end);
}

/** Least and greatest key of a batch. */
let least: u64 = 0;
let greatest: u64 = 0;

function markTable(part: ChoicePart, table: ChoiceTable): void {
  const manner = <u32>table.manner;
  const block = <usize>load<u32>(ctx.cols + ((<usize>table.column) << 2));
  const n = ctx.selLen;
  // Of bounds only the extremes of the batch count.
  const isBound = (manner & (BELOW | ABOVE)) != 0;
  let last: u64 = 0;
  let keys: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const row = <usize>load<u32>(ctx.sel + ((<usize>i) << 2));
    const tag = load<u8>(block + row, COL_TAGS);
    if (isNull(tag) && !(manner & STRICT)) continue;
    const val = load<u64>(block + (row << 3), COL_VALS);
    if (!hasKey(manner, tag, val)) {
      markAll(part, table);
      return;
    }
    if (manner & PREFIX) {
      markPrefixes(part, table, val);
      continue;
    }
    const key = manner & SORTED ? val : keyOfValue(manner, tag, val);
    // Messages that follow each other often have the same value.
    if (keys && key == last) continue;
    last = key;
    if (isBound) {
      if (!keys || isBelow(manner, key, least)) least = key;
      if (!keys || isBelow(manner, greatest, key)) greatest = key;
    } else if (manner & INTERVAL) {
      if (keys >= MANY_RANGES) {
        markAll(part, table);
        return;
      }
      // A bound of texts may be no part of the interval.
      if (manner & SORTED) isAsking = true;
      markIntervals(part, table, key, table.begin, table.end);
    } else markEqual(part, table, key);
    keys++;
  }
  if (isBound && keys) markBounds(part, table, manner);
}

/** True when the value can be compared with the constants of the table by its key. */
// @ts-ignore: decorator
@inline function hasKey(manner: u32, tag: u8, val: u64): bool {
  if (manner & TEXT) return tag == Tag.STR;
  if (tag == Tag.I64) return true;
  return tag == Tag.F64 && !(manner & WHOLE) && reinterpret<f64>(val) == reinterpret<f64>(val);
}

// @ts-ignore: decorator
@inline function keyOfValue(manner: u32, tag: u8, val: u64): u64 {
  if (manner & TEXT) return textKey(val);
  return tag == Tag.I64 ? integerKey(manner, <i64>val) : doubleKey(reinterpret<f64>(val));
}

/** Integers are compared with doubles as doubles: that keeps their order. */
// @ts-ignore: decorator
@inline function integerKey(manner: u32, x: i64): u64 {
  return manner & WHOLE ? wholeKey(x) : doubleKey(<f64>x);
}

/** The first constant that is not less than the key; `end` when all are. */
function lowerBound(part: ChoicePart, table: ChoiceTable, key: u64): u32 {
  const manner = <u32>table.manner;
  let low = table.begin;
  let high = table.end;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isBelow(manner, keyAt(part, middle), key)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first constant behind `from` that differs from the key. */
// @ts-ignore: decorator
@inline function behindEqual(part: ChoicePart, table: ChoiceTable, from: u32, key: u64): u32 {
  const end = table.end;
  const manner = <u32>table.manner;
  let to = from;
  while (to < end && !isBelow(manner, key, keyAt(part, to))) to++;
  return to;
}

function markEqual(part: ChoicePart, table: ChoiceTable, key: u64): void {
  const from = lowerBound(part, table, key);
  const isKnown = isAsking;
  // Other texts may have the same key.
  if (table.manner & TEXT) isAsking = true;
  markRange(part, from, behindEqual(part, table, from, key));
  isAsking = isKnown;
}

function markBounds(part: ChoicePart, table: ChoiceTable, manner: u32): void {
  const begin = table.begin;
  const end = table.end;
  if (table.edges && !isAsking) {
    noteEdge(part, table, edgeOf(part, table, manner), ctx.nowMs);
    ctx.addWork(1);
    return;
  }
  if (manner & ABOVE) {
    const from = lowerBound(part, table, greatest);
    markRange(part, begin, from);
    if (manner & EQUAL) markRange(part, from, behindEqual(part, table, from, greatest));
  }
  if (manner & BELOW) {
    const from = lowerBound(part, table, least);
    const to = behindEqual(part, table, from, least);
    if (manner & EQUAL) markRange(part, from, to);
    markRange(part, to, end);
    // Not equal: other texts may have the same key.
    if ((manner & (TEXT | SORTED)) == TEXT) {
      isAsking = true;
      markRange(part, from, to);
    }
  }
}

/** Place of the first constant behind the edge of a row that is alone. */
// @ts-ignore: decorator
@inline function edgeOf(part: ChoicePart, table: ChoiceTable, manner: u32): u32 {
  const from = lowerBound(part, table, least);
  const isBehindEqual = ((manner & ABOVE) != 0) == ((manner & EQUAL) != 0);
  return isBehindEqual ? behindEqual(part, table, from, least) : from;
}

/** Marks the intervals of [begin, end) that hold the key. */
function markIntervals(part: ChoicePart, table: ChoiceTable, key: u64, begin: u32, end: u32): void {
  const manner = <u32>table.manner;
  while (begin < end) {
    const middle = (begin + end) >> 1;
    if (isBelow(manner, highOf(part, table, linkOf(part, table, middle)), key)) return;
    markIntervals(part, table, key, begin, middle);
    if (isBelow(manner, key, keyAt(part, middle))) return;
    if (!isBelow(manner, highOf(part, table, middle), key)) markRange(part, middle, middle + 1);
    begin = middle + 1;
  }
}

/** Marks the prefixes that the text begins with: each of them is one of the last that is not greater, or it itself. */
function markPrefixes(part: ChoicePart, table: ChoiceTable, text: u64): void {
  let low = table.begin;
  let high = table.end;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (textOrder(keyAt(part, middle), text) <= 0) low = middle + 1;
    else high = middle;
  }
  let link = low == table.begin ? NO_LINK : low - 1;
  for (; link != NO_LINK; link = linkOf(part, table, link)) {
    if (beginsWith(text, keyAt(part, link))) markRange(part, link, link + 1);
  }
}

/** Marks the filters of a range of constants. */
function markRange(part: ChoicePart, from: u32, to: u32): void {
  if (from >= to) return;
  const positions = part.positions;
  // Rules made one after the other often have neighbouring constants: the bits of one word are gathered first.
  let word: u32 = 0;
  let bits: u64 = 0;
  for (let i = from; i < to; i++) {
    const position = load<u32>(positions + ((<usize>i) << 2));
    if (position >> 6 != word) {
      if (bits) markWord(part, word, bits);
      word = position >> 6;
      bits = 0;
    }
    bits |= (<u64>1) << (position & 63);
  }
  markWord(part, word, bits);
}

// @ts-ignore: decorator
@inline function markWord(part: ChoicePart, word: u32, bits: u64): void {
  const at = (<usize>word) << 3;
  store<u64>(part.called + at, load<u64>(part.called + at) | bits);
  if (isAsking) store<u64>(part.asked + at, load<u64>(part.asked + at) | bits);
  const touched = part.touched + ((word >> 6) << 3);
  store<u64>(touched, load<u64>(touched) | ((<u64>1) << (word & 63)));
}
