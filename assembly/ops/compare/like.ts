// LIKE: `%` any characters, `_` one character, line feeds too; all else means itself. Case-sensitive, the whole text
// must match.
import * as ctx from '../../batch/context';
import { COL_TAGS, COL_UNIFORM, COL_VALS, Tag, lenOf, offOf } from '../../mem/layout';
import { bytesEqual, bytesFind } from '../../value/bytes';
import { operandError, plainError, valueError } from '../../value/error';
import { constOf, isConst, program, valsOf } from '../operand';
import { dstOf, give, giveBool, map2Raw, outVal, setUniform, uniformOf } from '../row-loops';
import { Operation } from '../../gen/ops-layouts';

const PERCENT: u8 = 0x25;
const UNDERSCORE: u8 = 0x5f;
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

/** Matches against a pattern whose shape is known. */
// @ts-ignore: decorator
@inline function matchShape(off: usize, len: u32): bool {
  if (len < coreLen) return false;
  if (shape == Shape.PREFIX) return bytesEqual(off, coreOff, coreLen);
  if (shape == Shape.EXACT) return len == coreLen && bytesEqual(off, coreOff, len);
  if (shape == Shape.SUFFIX) return bytesEqual(off + (len - coreLen), coreOff, coreLen);
  return bytesFind(off, len, coreOff, coreLen, 0) >= 0;
}

/** Length of the character at `at`: malformed bytes count one each. */
// @ts-ignore: decorator
@inline function charLen(at: usize, end: usize): u32 {
  const c = load<u8>(at);
  const n: u32 = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
  return at + n <= end ? n : 1;
}

// ---- any pattern --------------------------------------------------------------------------------------------- The
// parts of the pattern between `%` are found one behind the other, each as early as it can be, the last one at the end.

/** Characters that parts with `_` may compare for each byte of text and pattern. */
const COMPARED: u64 = 100;
let compared: u64 = 0;
let mostCompared: u64 = 0;
/** A match took more comparisons than it may. */
let isTooMuch: bool = false;

/** Result for a part of the pattern that does not occur. */
const NOWHERE: usize = usize.MAX_VALUE;

let hasOpen: bool = false;
let characters: u32 = 0;

/**
 * End of the part of the pattern that begins at `p`; `hasOpen` tells whether it has `_`, `characters` how many there
 * are.
 */
function partEnd(p: usize, patternEnd: usize): usize {
  hasOpen = false;
  characters = 0;
  let q = p;
  for (; q < patternEnd; q++) {
    const c = load<u8>(q);
    if (c == PERCENT) break;
    if (c == UNDERSCORE) hasOpen = true;
    characters += <u32>((c & 0xc0) != 0x80);
  }
  return q;
}

/** The address behind the part [p, q) of the pattern where it stands at `at`; NOWHERE when it does not. */
function behindPart(at: usize, end: usize, p: usize, q: usize): usize {
  while (p < q) {
    if (at >= end) return NOWHERE;
    if (load<u8>(p) == UNDERSCORE) {
      at += charLen(at, end);
      p++;
    } else if (load<u8>(p++) != load<u8>(at++)) return NOWHERE;
    compared++;
  }
  return at;
}

/** As `behindPart` for the first place at or behind `at` where the part, which is not empty, stands. */
function findPart(at: usize, end: usize, p: usize, q: usize): usize {
  if (!hasOpen) {
    const found = bytesFind(at, <u32>(end - at), p, <u32>(q - p), 0);
    return found < 0 ? NOWHERE : at + found + (q - p);
  }
  for (; at < end; at += charLen(at, end)) {
    const behind = behindPart(at, end, p, q);
    if (behind != NOWHERE) return behind;
    if (compared > mostCompared) {
      isTooMuch = true;
      break;
    }
  }
  return NOWHERE;
}

/** The address `wanted` characters before the end, NOWHERE when it lies before `at`. */
function beforeEnd(at: usize, end: usize, wanted: u32): usize {
  let n: u32 = 0;
  for (let p = at; p < end; p += charLen(p, end)) n++;
  if (n < wanted) return NOWHERE;
  for (; n > wanted; n--) at += charLen(at, end);
  return at;
}

/** Matches any pattern. */
function matchGeneral(off: usize, len: u32, pattern: usize, patternLen: u32): bool {
  const end = off + len;
  const patternEnd = pattern + patternLen;
  compared = 0;
  mostCompared = COMPARED * (<u64>len + patternLen);
  let p = pattern;
  let q = partEnd(p, patternEnd);
  let at = behindPart(off, end, p, q);
  if (at == NOWHERE) return false;
  if (q == patternEnd) return at == end;
  for (;;) {
    p = q + 1;
    q = partEnd(p, patternEnd);
    if (q == patternEnd) break;
    if (p == q) continue;
    at = findPart(at, end, p, q);
    if (at == NOWHERE) return false;
  }
  if (p == q) return true;
  const last = beforeEnd(at, end, characters);
  return last != NOWHERE && behindPart(last, end, p, q) == end;
}

function giveTooMuch(): void {
  isTooMuch = false;
  give(Tag.ERROR, plainError('LIKE: too much work, a part of the pattern with _ nearly matches at too many places'));
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
      shape == Shape.GENERAL ? matchGeneral(offOf(a), lenOf(a), offOf(b), lenOf(b)) : matchShape(offOf(a), lenOf(a));
    if (isTooMuch) giveTooMuch();
    else giveBool(hit == wanted);
  }
}

/**
 * Matches `text%` with up to 16 bytes of text, without branches that depend on values: values and constants are
 * followed by 16 readable bytes (mem/pool.ts).
 */
function likePrefix(to: usize, vals: usize, wanted: bool): void {
  const mask = i8x16.lt_u(LANES, i8x16.splat(<u8>coreLen));
  const core = v128.and(v128.load(coreOff), mask);
  const least = coreLen;
  const sel = ctx.sel;
  const n = ctx.selLen;
  for (let k: u32 = 0; k < n; k++) {
    const at = (<usize>load<u32>(sel + (k << 2))) << 3;
    const text = v128.load(<usize>load<u32>(vals + at));
    const hit = <u32>(load<u32>(vals + at, 4) >= least) & <u32>!v128.any_true(v128.xor(v128.and(text, mask), core));
    store<u64>(to + at, <u64>(hit == <u32>wanted));
  }
}

/** A column of strings against one pattern. */
function likeStrings(op: Operation, wanted: bool): bool {
  const a = op.a;
  const b = op.b;
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
  setUniform(dst, Tag.BOOL);
  if (shape == Shape.PREFIX && coreLen <= 16) {
    likePrefix(to, vals, wanted);
  } else if (shape == Shape.GENERAL) {
    for (let k: u32 = 0; k < n; k++) {
      const row = <usize>load<u32>(sel + (k << 2));
      const val = load<u64>(vals + (row << 3));
      const hit = matchGeneral(offOf(val), lenOf(val), patternOff, patternLen);
      store<u64>(to + (row << 3), <u64>(hit == wanted));
      if (isTooMuch) {
        giveTooMuch();
        store<u8>(dst + row, Tag.ERROR, COL_TAGS);
        store<u64>(to + (row << 3), outVal);
        store<u8>(dst, Tag.MIXED, COL_UNIFORM);
      }
    }
  } else {
    for (let k: u32 = 0; k < n; k++) {
      const at = (<usize>load<u32>(sel + (k << 2))) << 3;
      const val = load<u64>(vals + at);
      store<u64>(to + at, <u64>(matchShape(offOf(val), lenOf(val)) == wanted));
    }
  }
  return true;
}

export function compareLike(op: Operation): void {
  if (likeStrings(op, true)) return;
  map2Raw(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => giveLike(tagA, a, tagB, b, true));
}

export function compareNotLike(op: Operation): void {
  if (likeStrings(op, false)) return;
  map2Raw(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => giveLike(tagA, a, tagB, b, false));
}
