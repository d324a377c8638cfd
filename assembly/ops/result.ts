// Room for the results of programs, and its bounds: the length of one value, and the length of all values that the
// nodes of one way through the tree compute for a batch. A longer result is an error of its row that names the
// function. So texts that double from column to column end there, and not with the memory of all rules.
//
// The length of a text is that of its bytes; an array has 16 bytes for each item and an object 24 for each member, with
// the texts and nested values that they refer to, as often as they do.
import * as ctx from '../batch/context';
import { MEMBER_KEY_LEN, MEMBER_SIZE, MEMBER_TAG, SLOT_SIZE, SLOT_TAG, Tag, lenOf, offOf } from '../mem/layout';
import { poolAlloc } from '../mem/pool';
import {
  textBegin,
  textFails,
  textI64,
  textLen,
  textLiteral,
  textMax,
  textTake,
  textTakeError,
  textTooLong,
} from '../value/text';
import { give } from './row-loops';

/** Values of full length that a batch may compute, and the bytes that it may compute in any case. */
const VALUES_PER_BATCH: u64 = 8;
const MIN_BATCH: u64 = 1 << 26;
/** Length from which on a value counts as work, and the bytes that count as the work of one row. */
const LONG: u64 = 4096;
const BYTES_PER_ROW: u32 = 64;
/** Lengths above this could not be doubled in 32 bits. */
const MAX_LIMIT: f64 = 1073741824;

let maxValue: u32 = 1 << 24;

/** Sets the longest value that programs and aggregates may make, bytes. */
export function setValueLimit(bytes: f64): void {
  maxValue = <u32>max(1, min(bytes, MAX_LIMIT));
}

/** The longest value that programs and aggregates may make, bytes. */
// @ts-ignore: decorator
@inline export function valueLimit(): u32 {
  return maxValue;
}

/** Error of a value of `len` bytes, or of more when that is not known (0). */
export function tooLong(name: string, len: u64): u64 {
  textBegin();
  textLiteral(name);
  textLiteral(': the result ');
  if (len) {
    textLiteral('of ');
    textI64(<i64>len);
    textLiteral(' bytes ');
  }
  textLiteral('is longer than a value may be: ');
  textI64(maxValue);
  textLiteral(' bytes (maxValueBytes)');
  return textTakeError();
}

function tooMuch(name: string): u64 {
  textBegin();
  textLiteral(name);
  textLiteral(': the values computed for one batch of rows take more than ');
  textI64(<i64>max(maxValue * VALUES_PER_BATCH, MIN_BATCH));
  textLiteral(' bytes');
  return textTakeError();
}

/** Error of a function that had no memory for its result. */
export function noMemory(name: string): u64 {
  textBegin();
  textLiteral(name);
  textLiteral(': memory is exhausted');
  return textTakeError();
}

/** Counts a result of `len` bytes; false, and the error given, when it or all results of the batch are too long. */
export function charge(name: string, len: u64): bool {
  if (len > maxValue) {
    give(Tag.ERROR, tooLong(name, len));
    return false;
  }
  if (count(len)) return true;
  give(Tag.ERROR, tooMuch(name));
  return false;
}

/** Counts `len` bytes; false when the results of the batch are too long together. */
export function count(len: u64): bool {
  if (ctx.computed + len > max(maxValue * VALUES_PER_BATCH, MIN_BATCH)) return false;
  ctx.setComputed(ctx.computed + len);
  if (len >= LONG) ctx.addWork(<u32>len / BYTES_PER_ROW);
  return true;
}

/** Memory for a result of `len` bytes; 0, and the error given, when there is none. */
export function resultRoom(name: string, len: u64): usize {
  if (!charge(name, len)) return 0;
  const to = poolAlloc(ctx.scratch, <u32>len);
  if (!to) give(Tag.ERROR, noMemory(name));
  return to;
}

/** As `resultRoom` for a result of common length, without an error: 0 where it is longer, or there is no room. */
// @ts-ignore: decorator
@inline export function shortRoom(len: u64): usize {
  if (len > min<u64>(maxValue, LONG) || !count(len)) return 0;
  return poolAlloc(ctx.scratch, <u32>len);
}

/** Starts the text of a result, which grows to the longest value and no further. */
export function resultBegin(): void {
  textBegin();
  textMax(maxValue);
}

/** Gives the text under way as the result. */
export function giveText(name: string): void {
  if (textFails) {
    give(Tag.ERROR, textTooLong ? tooLong(name, 0) : noMemory(name));
    return;
  }
  if (charge(name, textLen)) give(Tag.STR, textTake());
}

/** Bytes of a value and of all values that it refers to; counting ends above `limit`. */
export function valueLength(tag: u8, val: u64, limit: u64): u64 {
  if (tag < Tag.STR || tag == Tag.TIME) return 0;
  const n = lenOf(val);
  if (tag == Tag.ARRAY) {
    let len = <u64>n * SLOT_SIZE;
    let at = offOf(val);
    for (let i: u32 = 0; i < n && len <= limit; i++, at += SLOT_SIZE) {
      const item = load<u8>(at, SLOT_TAG);
      if (item >= Tag.STR) len += valueLength(item, load<u64>(at), limit - len);
    }
    return len;
  }
  if (tag == Tag.OBJECT) {
    let len = <u64>n * MEMBER_SIZE;
    let at = offOf(val);
    for (let i: u32 = 0; i < n && len <= limit; i++, at += MEMBER_SIZE) {
      len += load<u32>(at, MEMBER_KEY_LEN);
      const member = load<u8>(at, MEMBER_TAG);
      if (member >= Tag.STR && len <= limit) len += valueLength(member, load<u64>(at), limit - len);
    }
    return len;
  }
  return n;
}
