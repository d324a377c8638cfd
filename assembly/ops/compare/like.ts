// LIKE: `%` any characters, `_` one character, neither a line feed; all else means itself. Case-sensitive, the whole text
// must match.
import * as ctx from '../../flow/context';
import { COL_VALS, Tag, lenOf, offOf } from '../../mem/layout';
import { bytesEqual, bytesFind } from '../../value/bytes';
import { operandError, valueError } from '../../value/error';
import { OP_A, OP_B, constOf, isConst, program, valsOf } from '../operand';
import { dstOf, give, giveBool, map2Raw, setUniform, uniformOf } from '../row-loops';

const PERCENT: u8 = 0x25;
const UNDERSCORE: u8 = 0x5f;
const LINE_FEED: u8 = 0x0a;
const LANES: v128 = i8x16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

/** Shapes of patterns that need no matcher. */
namespace Shape {
  export const GENERAL: u32 = 0;
  export const EXACT: u32 = 1;
  /** text% */
  export const PREFIX: u32 = 2;
  /** %text */
  export const SUFFIX: u32 = 3;
  /** %text% */
  export const CONTAINS: u32 = 4;
}

let shape: u32 = 0;
let coreOff: usize = 0;
let coreLen: u32 = 0;

/** Finds the shape of a pattern, and the text inside. */
function classify(off: usize, len: u32): void {
  let from = off;
  let to = off + len;
  const startsFree = len > 0 && load<u8>(off) == PERCENT;
  if (startsFree) from++;
  const endsFree = to > from && load<u8>(to - 1) == PERCENT;
  if (endsFree) to--;
  shape = Shape.GENERAL;
  for (let at = from; at < to; at++) {
    const c = load<u8>(at);
    if (c == PERCENT || c == UNDERSCORE) return;
  }
  coreOff = from;
  coreLen = <u32>(to - from);
  shape = startsFree ? (endsFree ? Shape.CONTAINS : Shape.SUFFIX) : endsFree ? Shape.PREFIX : Shape.EXACT;
}

/** No line feed in the range. */
// @ts-ignore: decorator
@inline function isOneLine(at: usize, len: u32): bool {
  const feed = i8x16.splat(LINE_FEED);
  let i: u32 = 0;
  while (i + 16 <= len) {
    if (v128.any_true(i8x16.eq(v128.load(at + i), feed))) return false;
    i += 16;
  }
  while (i < len) {
    if (load<u8>(at + i) == LINE_FEED) return false;
    i++;
  }
  return true;
}

/** Matches against a pattern whose shape is known; the core itself may hold a line feed. */
// @ts-ignore: decorator
@inline function matchShape(off: usize, len: u32): bool {
  if (len < coreLen) return false;
  const rest = len - coreLen;
  if (shape == Shape.PREFIX) return bytesEqual(off, coreOff, coreLen) && isOneLine(off + coreLen, rest);
  if (shape == Shape.EXACT) return rest == 0 && bytesEqual(off, coreOff, len);
  if (shape == Shape.SUFFIX) return bytesEqual(off + rest, coreOff, coreLen) && isOneLine(off, rest);
  let at = bytesFind(off, len, coreOff, coreLen, 0);
  while (at >= 0) {
    if (isOneLine(off, at) && isOneLine(off + at + coreLen, rest - at)) return true;
    at = bytesFind(off, len, coreOff, coreLen, at + 1);
  }
  return false;
}

/** Length of the character at `at`: malformed bytes count one each. */
// @ts-ignore: decorator
@inline function charLen(at: usize, end: usize): u32 {
  const c = load<u8>(at);
  const n: u32 = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
  return at + n <= end ? n : 1;
}

/** Matches any pattern: on a mismatch the last `%` takes one character more. */
function matchGeneral(off: usize, len: u32, pattern: usize, patternLen: u32): bool {
  const end = off + len;
  const patternEnd = pattern + patternLen;
  let at = off;
  let p = pattern;
  let retryAt: usize = 0;
  let retryP: usize = 0;
  while (at < end) {
    if (p < patternEnd) {
      const c = load<u8>(p);
      if (c == PERCENT) {
        p++;
        retryP = p;
        retryAt = at;
        continue;
      }
      if (c == UNDERSCORE && load<u8>(at) != LINE_FEED) {
        at += charLen(at, end);
        p++;
        continue;
      }
      if (c != UNDERSCORE && c == load<u8>(at)) {
        at++;
        p++;
        continue;
      }
    }
    if (!retryP || load<u8>(retryAt) == LINE_FEED) return false;
    retryAt += charLen(retryAt, end);
    at = retryAt;
    p = retryP;
  }
  while (p < patternEnd && load<u8>(p) == PERCENT) p++;
  return p == patternEnd;
}

function giveLike(tagA: u8, a: u64, tagB: u8, b: u64, wanted: bool): void {
  if (tagA == Tag.ERROR || tagB == Tag.ERROR) {
    give(Tag.ERROR, tagA == Tag.ERROR ? a : b);
  } else if (tagA >= Tag.ARRAY) {
    give(Tag.ERROR, operandError(tagA, a, 'LIKE', tagB, b));
  } else if (tagB != Tag.STR) {
    give(Tag.ERROR, valueError('invalid LIKE pattern, must be a string but got ', tagB, b));
  } else if (tagA != Tag.STR) {
    give(Tag.ERROR, valueError('LIKE operator left operand expects string, but found ', tagA, a));
  } else {
    classify(offOf(b), lenOf(b));
    const hit =
      shape == Shape.GENERAL
        ? matchGeneral(offOf(a), lenOf(a), offOf(b), lenOf(b))
        : matchShape(offOf(a), lenOf(a));
    giveBool(hit == wanted);
  }
}

/**
 * `text%` with up to 16 bytes of text, no branch on what the rows hold: values and constants are followed by 16 readable
 * bytes (mem/pool.ts), so one load sees beginning and line feeds of a short string.
 */
function likePrefix(to: usize, vals: usize, wanted: bool): void {
  const mask = i8x16.lt_u(LANES, i8x16.splat(<u8>coreLen));
  const core = v128.and(v128.load(coreOff), mask);
  const feed = i8x16.splat(LINE_FEED);
  const least = coreLen;
  const sel = ctx.sel;
  const n = ctx.selLen;
  for (let k: u32 = 0; k < n; k++) {
    const at = <usize>load<u32>(sel + (k << 2)) << 3;
    const len = load<u32>(vals + at, 4);
    const off = <usize>load<u32>(vals + at);
    const text = v128.load(off);
    let hit = <u32>(len >= least) & <u32>!v128.any_true(v128.xor(v128.and(text, mask), core));
    // Rarely taken: what follows the string in memory may hold the line feed as well, so look closely.
    if (v128.any_true(i8x16.eq(text, feed)) || len > 16) hit = hit && isOneLine(off + least, len - least);
    store<u64>(to + at, <u64>(hit == <u32>wanted));
  }
}

/** A column of strings against one pattern. */
function likeStrings(op: usize, wanted: bool): bool {
  const a = load<u16>(op, OP_A);
  const b = load<u16>(op, OP_B);
  if (!isConst(b) || isConst(a) || uniformOf(a) != Tag.STR || uniformOf(b) != Tag.STR) return false;
  const pattern = load<u64>(constOf(program, b));
  const patternOff = offOf(pattern);
  const patternLen = lenOf(pattern);
  classify(patternOff, patternLen);
  const dst = dstOf(op);
  const to = dst + COL_VALS;
  const vals = valsOf(program, a);
  const sel = ctx.sel;
  const n = ctx.selLen;
  if (shape == Shape.PREFIX && coreLen <= 16) {
    likePrefix(to, vals, wanted);
  } else if (shape == Shape.GENERAL) {
    for (let k: u32 = 0; k < n; k++) {
      const at = <usize>load<u32>(sel + (k << 2)) << 3;
      const val = load<u64>(vals + at);
      store<u64>(to + at, <u64>(matchGeneral(offOf(val), lenOf(val), patternOff, patternLen) == wanted));
    }
  } else {
    for (let k: u32 = 0; k < n; k++) {
      const at = <usize>load<u32>(sel + (k << 2)) << 3;
      const val = load<u64>(vals + at);
      store<u64>(to + at, <u64>(matchShape(offOf(val), lenOf(val)) == wanted));
    }
  }
  setUniform(dst, Tag.BOOL);
  return true;
}

export function compareLike(op: usize): void {
  if (likeStrings(op, true)) return;
  map2Raw(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => giveLike(tagA, a, tagB, b, true));
}

export function compareNotLike(op: usize): void {
  if (likeStrings(op, false)) return;
  map2Raw(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => giveLike(tagA, a, tagB, b, false));
}
