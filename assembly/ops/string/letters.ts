// Case, order of characters, white space and padding.
import * as ctx from '../../batch/context';
import { Tag, lenOf, offOf, span } from '../../mem/layout';
import { poolAlloc } from '../../mem/pool';
import { charge, noMemory, resultRoom } from '../result';
import { putCodePoint } from '../../text/utf8';
import { plainError } from '../../value/error';
import { isAscii, isSpace, lowerOf, runeAt, runeLen, upperOf } from '../../value/unicode';
import { isAbsent } from '../numeric';
import { give, giveNull, map2 } from '../row-loops';
import { caseOfColumn, isTextColumn, reverseColumn, trimColumn } from './columns';
import { count, endOf, part, readCount, text1, textOf } from './text-of';
import { Operation } from '../../gen/ops-layouts';

const MAX_PADDING: i64 = 1 << 20;

/** Memory for each of `len` bytes to become three; 0 and the error given when there is none. */
function wideRoom(name: string, len: u32): usize {
  const size = <u64>len * 3;
  const to: usize = size > 0x7fff0000 ? 0 : poolAlloc(ctx.scratch, <u32>size);
  if (!to) give(Tag.ERROR, noMemory(name));
  return to;
}

/** ASCII letters of [from, from + len) in the other case, `first` being the first letter to change; false at others. */
// @ts-ignore: decorator
@inline function asciiCase(to: usize, from: usize, len: u32, first: u32): bool {
  const letter = i8x16.splat(<i8>first);
  const range = i8x16.splat(26);
  const bit = i8x16.splat(0x20);
  let i: u32 = 0;
  for (; i + 16 <= len; i += 16) {
    const v = v128.load(from + i);
    if (i8x16.bitmask(v)) return false;
    const hits = i8x16.lt_u(i8x16.sub(v, letter), range);
    v128.store(to + i, v128.xor(v, v128.and(hits, bit)));
  }
  for (; i < len; i++) {
    const c = <u32>load<u8>(from + i);
    if (c >= 0x80) return false;
    store<u8>(to + i, <u8>(c - first < 26 ? c ^ 0x20 : c));
  }
  return true;
}

// @ts-ignore: decorator
@inline function giveCase(text: u64, isUpper: bool): void {
  const from = offOf(text);
  const len = lenOf(text);
  // A character can take one byte more in the other case (3 instead of 2), malformed ones become 3 bytes.
  const name = isUpper ? 'upper' : 'lower';
  const to = resultRoom(name, len);
  if (!to) return;
  if (asciiCase(to, from, len, isUpper ? 0x61 : 0x41)) {
    give(Tag.STR, span(to, len));
    return;
  }
  const wide = wideRoom(name, len);
  if (!wide) return;
  const end = endOf(text);
  let out = wide;
  for (let p = from; p < end; p += runeLen) {
    const c = runeAt(p, end);
    out = putCodePoint(out, isUpper ? upperOf(c) : lowerOf(c));
  }
  if (charge(name, <u64>(out - wide))) give(Tag.STR, span(wide, <u32>(out - wide)));
}

function giveUpper(text: u64): void {
  giveCase(text, true);
}

export function stringUpper(op: Operation): void {
  if (isTextColumn(op.a)) caseOfColumn(op, 0x61, giveUpper);
  else text1(op, giveUpper);
}

function giveLower(text: u64): void {
  giveCase(text, false);
}

export function stringLower(op: Operation): void {
  if (isTextColumn(op.a)) caseOfColumn(op, 0x41, giveLower);
  else text1(op, giveLower);
}

/** Gives the bytes in the opposite order. */
function giveBytesReversed(from: usize, len: u32): void {
  const to = resultRoom('reverse', len);
  if (!to) return;
  let left = len;
  for (; left >= 8; left -= 8) store<u64>(to + left - 8, bswap(load<u64>(from + len - left)));
  for (; left > 0; left--) store<u8>(to + left - 1, load<u8>(from + len - left));
  give(Tag.STR, span(to, len));
}

function giveReversed(text: u64): void {
  const len = lenOf(text);
  if (isAscii(offOf(text), len)) {
    giveBytesReversed(offOf(text), len);
    return;
  }
  const to = wideRoom('reverse', len);
  if (!to) return;
  const end = endOf(text);
  let size: u32 = 0;
  for (let p = offOf(text); p < end; p += runeLen) {
    const c = runeAt(p, end);
    size += c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  }
  if (!charge('reverse', size)) return;
  let out = to + size;
  for (let p = offOf(text); p < end; p += runeLen) {
    const c = runeAt(p, end);
    out -= c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    putCodePoint(out, c);
  }
  give(Tag.STR, span(to, size));
}

export function stringReverse(op: Operation): void {
  if (isTextColumn(op.a)) reverseColumn(op, giveReversed);
  else text1(op, giveReversed);
}

// ---- white space ---------------------------------------------------------------------------------------------

function leading(text: u64): u32 {
  const end = endOf(text);
  let p = offOf(text);
  // A visible ASCII character ends it; most texts begin with one.
  while (p < end && <u32>load<u8>(p) - 0x21 >= 0x5f && isSpace(runeAt(p, end))) p += runeLen;
  return <u32>(p - offOf(text));
}

/** Length without the white space at the end; not below `from`. */
function withoutTrailing(text: u64, from: u32): u32 {
  const start = offOf(text) + from;
  let end = endOf(text);
  while (end > start && <u32>load<u8>(end - 1) - 0x21 >= 0x5f) {
    let p = end - 1;
    while (p > start && (load<u8>(p) & 0xc0) == 0x80) p--;
    if (!isSpace(runeAt(p, end)) || p + runeLen != end) break;
    end = p;
  }
  return <u32>(end - offOf(text));
}

function giveTrimmed(text: u64): void {
  const from = leading(text);
  give(Tag.STR, part(text, from, withoutTrailing(text, from)));
}

export function stringTrim(op: Operation): void {
  if (isTextColumn(op.a)) trimColumn(op, true, true, giveTrimmed);
  else text1(op, giveTrimmed);
}

function giveLtrimmed(text: u64): void {
  give(Tag.STR, part(text, leading(text), lenOf(text)));
}

export function stringLtrim(op: Operation): void {
  if (isTextColumn(op.a)) trimColumn(op, true, false, giveLtrimmed);
  else text1(op, giveLtrimmed);
}

function giveRtrimmed(text: u64): void {
  give(Tag.STR, part(text, 0, withoutTrailing(text, 0)));
}

export function stringRtrim(op: Operation): void {
  if (isTextColumn(op.a)) trimColumn(op, false, true, giveRtrimmed);
  else text1(op, giveRtrimmed);
}

function pad(tagA: u8, a: u64, tagB: u8, b: u64, isLeft: bool): void {
  if (isAbsent(tagA, a)) {
    giveNull();
    return;
  }
  if (!readCount(tagB, b)) return;
  if (count < 0 || count > MAX_PADDING) {
    give(Tag.ERROR, plainError('the count of spaces must be between 0 and 1048576'));
    return;
  }
  const text = textOf(tagA, a);
  const spaces = <u32>count;
  const to = resultRoom(isLeft ? 'lpad' : 'rpad', <u64>spaces + lenOf(text));
  if (!to) return;
  memory.fill(isLeft ? to : to + lenOf(text), 0x20, spaces);
  memory.copy(isLeft ? to + spaces : to, offOf(text), lenOf(text));
  give(Tag.STR, span(to, spaces + lenOf(text)));
}

export function stringLpad(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => pad(tagA, a, tagB, b, true));
}

export function stringRpad(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => pad(tagA, a, tagB, b, false));
}
