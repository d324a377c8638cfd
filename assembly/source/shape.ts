// Shapes: messages of one sender mostly have the same keys in the same order with the same space between, so everything
// but the values is literal. A shape holds those literals; a message that matches is read value by value, keys being
// compared 32 bytes at a time instead of being looked up. All values are checked as in the general way (json/scan.ts), so a
// message that does not match, or is broken, merely takes the general way.
//
//   shape      count u32 | size u32 | 0 u64 | segments
//   segment    literal 32 bytes | mask 32 bytes | len u32 | block u32 | kind u8 | numberAs u8 | takesText u8 | 0 | use u32
//
// kind SKIP: a value nobody needs follows the literal; VALUE: a value for `block`; JOIN: nothing (long literals take
// several segments); END: the message ends here.
import { alloc, free } from '../mem/alloc';
import { COL_HAS_RAW, COL_RAW, COL_TAGS, COL_VALS, span, Tag } from '../mem/layout';
import { POW10_F64 } from '../text/wide';
import { afterKey, scanNumber, scanString, scanValue, skipSpace, stringEscaped, unescape } from '../json/scan';
import { TypeKind } from '../json/type';
import { poolAlloc } from '../mem/pool';
import * as ctx from '../flow/context';
import { put } from './batch';
import { putField } from './decode';
import {
  blockAt, findUse, S_FLAGS, S_MAX_DEPTH, S_SHAPES, SpecFlag, U_NEXT, U_TYPE_KIND, useAt,
} from './state';

const SHAPES: u32 = 4;
const HEAD: usize = 16;
const SEGMENT: usize = 80;
const MAX_SEGMENTS: u32 = 256;
const G_MASK: usize = 32;
const G_LEN: usize = 64;
const G_BLOCK: usize = 68;
const G_KIND: usize = 72;
const G_NUMBER: usize = 73;
const G_TEXT: usize = 74;
const G_USE: usize = 76;

namespace Segment {
  export const SKIP: u8 = 0;
  export const VALUE: u8 = 1;
  export const JOIN: u8 = 2;
  export const END: u8 = 3;
}

/** How a typed number is stored: doubles, exact integers, integers where whole, anything else by the general way. */
namespace NumberAs {
  export const F64: u8 = 0;
  export const I64: u8 = 1;
  export const WHOLE_I64: u8 = 2;
  export const OTHER: u8 = 3;
}

export function shapesForget(state: usize, account: usize): void {
  for (let i: usize = 0; i < SHAPES << 2; i += 4) {
    const shape = <usize>load<u32>(state + i, S_SHAPES);
    if (shape) free(shape, load<u32>(shape, 4), account);
    store<u32>(state + i, 0, S_SHAPES);
  }
}

/** Reads a message by the shape into row `row`; false when it does not match (the row may be half filled then). */
export function decodeByShape(state: usize, shape: usize, p0: usize, end: usize, row: u32): bool {
  let p = p0;
  let s = shape + HEAD;
  while (true) {
    const miss = v128.and(v128.xor(v128.load(p), v128.load(s)), v128.load(s, 32));
    if (v128.any_true(miss)) return false;
    const len = <usize>load<u32>(s, G_LEN);
    if (len > 16 && v128.any_true(v128.and(v128.xor(v128.load(p, 16), v128.load(s, 16)), v128.load(s, 48)))) return false;
    p += len;
    const kind = load<u8>(s, G_KIND);
    if (kind == Segment.VALUE) {
      const block = <usize>load<u32>(s, G_BLOCK);
      const c = <u32>load<u8>(p);
      const as = load<u8>(s, G_NUMBER);
      if (c == 0x22 && load<u8>(s, G_TEXT)) {
        const q = scanString(p + 1, end);
        if (!q) return false;
        let off = p + 1;
        let size = q - off;
        if (stringEscaped) {
          const to = poolAlloc(ctx.scratch, <u32>size);
          if (!to) return false;
          size = unescape(off, q, to) - to;
          off = to;
        }
        put(block, row, Tag.STR, span(off, <u32>size));
        p = q + 1;
      } else if ((c - 48 < 10 || c == 0x2d) && as != NumberAs.OTHER) {
        p = putNumber(block, row, p, as);
        if (!p) return false;
      } else {
        p = putField(state, <u32>load<u32>(s, G_USE), p, end, row);
        if (!p) return false;
      }
    } else if (kind == Segment.SKIP) {
      p = skipOne(state, p, end);
      if (!p) return false;
    } else if (kind == Segment.END) return p == end;
    s += SEGMENT;
    if (p > end) return false;
  }
}

// @ts-ignore: decorator
@inline function skipOne(state: usize, p: usize, end: usize): usize {
  const c = <u32>load<u8>(p);
  if (c == 0x22) {
    const q = scanString(p + 1, end);
    return q ? q + 1 : 0;
  }
  if (c == 0x2d || c - 48 < 10) {
    const q = p + <usize>(c == 0x2d);
    const digits = <u32>i8x16.bitmask(i8x16.lt_u(i8x16.sub(v128.load(q), i8x16.splat(48)), i8x16.splat(10)));
    const whole = ctz(~digits);
    let at = q + whole;
    const next = <u32>load<u8>(at);
    if (next == 0x2c || next == 0x7d) return whole ? at : 0;
    if (next == 0x2e && whole) {
      const fraction = ctz(~(digits >> (whole + 1)));
      at += 1 + fraction;
      const after = <u32>load<u8>(at);
      if (fraction && (after == 0x2c || after == 0x7d)) return at;
    }
    return scanNumber(p, end);
  }
  return scanValue(p, end, load<i32>(state, S_MAX_DEPTH) - 1);
}

/**
 * Stores a short number without exponent; 0 for others. The byte after the message is no digit, or belongs to the next
 * message: a number that runs out of its message is noticed when the literal after it does not match.
 */
// @ts-ignore: decorator
@inline function putNumber(block: usize, row: u32, p0: usize, as: u8): usize {
  let c = <u32>load<u8>(p0);
  const negative = c == 0x2d;
  const start = p0 + <usize>negative;
  let p = start;
  let m: u64 = 0;
  c = <u32>load<u8>(p) - 48;
  while (c < 10) {
    m = m * 10 + c;
    c = <u32>load<u8>(++p) - 48;
  }
  const whole = <u32>(p - start);
  let fraction: u32 = 0;
  if (c == 0xfffffffe) {
    const dot = ++p;
    c = <u32>load<u8>(p) - 48;
    while (c < 10) {
      m = m * 10 + c;
      c = <u32>load<u8>(++p) - 48;
    }
    fraction = <u32>(p - dot);
    if (fraction == 0) return 0;
  }
  // Up to 15 digits are exact as a double; anything but ',' '}' or space after them is for the general way.
  if (whole == 0 || whole + fraction > 15 || (c | 32) == 0x35) return 0;
  const at = block + (<usize>row << 3);
  const first = load<u8>(start);
  let isCanonical = (first != 48 || whole == 1) && !(negative && m == 0);
  if (as == NumberAs.F64 || (as == NumberAs.WHOLE_I64 && fraction != 0)) {
    let v = <f64>(<i64>m);
    if (fraction) {
      v /= load<f64>(POW10_F64 + (<usize>fraction << 3));
      isCanonical = isCanonical && load<u8>(p - 1) != 48 && (first != 48 || fraction <= 6);
    }
    store<f64>(at, negative ? -v : v, COL_VALS);
    store<u8>(block + row, Tag.F64, COL_TAGS);
  } else {
    if (fraction) return 0;
    store<i64>(at, negative ? -(<i64>m) : <i64>m, COL_VALS);
    store<u8>(block + row, Tag.I64, COL_TAGS);
  }
  store<u8>(block, 1, COL_HAS_RAW);
  store<u64>(at, isCanonical ? span(p0, <u32>(p - p0)) : 0, COL_RAW);
  return p;
}

// ---- learning -------------------------------------------------------------------------------------------------

const DRAFT: usize = memory.data(16 + 80 * 256, 16);
let drafted: u32 = 0;

/** Adds segments for the literal [from, to) and what follows it; false when there are too many. */
function draft(from: usize, to: usize, kind: u8, use: u32, block: usize, as: u8, takesText: bool): bool {
  let p = from;
  while (true) {
    if (drafted == MAX_SEGMENTS) return false;
    const s = DRAFT + HEAD + <usize>drafted * SEGMENT;
    const len = min(<u32>(to - p), 32);
    const isLast = p + len == to;
    memory.fill(s, 0, SEGMENT);
    memory.copy(s, p, len);
    memory.fill(s + G_MASK, 0xff, len);
    store<u32>(s, len, G_LEN);
    store<u8>(s, isLast ? kind : Segment.JOIN, G_KIND);
    store<u32>(s, <u32>block, G_BLOCK);
    store<u8>(s, as, G_NUMBER);
    store<u8>(s, <u8>takesText, G_TEXT);
    store<u32>(s, use, G_USE);
    drafted++;
    p += len;
    if (isLast) return true;
  }
}

/** Makes the shape of a message that was decoded without error; kept in place `slot`. */
export function learn(state: usize, account: usize, slot: u32, p0: usize, end: usize): void {
  drafted = 0;
  const depth = load<i32>(state, S_MAX_DEPTH);
  let from = p0;
  let p = skipSpace(p0, end) + 1;
  p = skipSpace(p, end);
  while (load<u8>(p) == 0x22) {
    const key = p + 1;
    p = scanString(key, end);
    if (!p || stringEscaped) return;
    const use = findUse(state, key, <u32>(p - key));
    p = afterKey(p + 1, end);
    if (!p) return;
    let as = NumberAs.F64;
    let takesText = false;
    if (use) {
      const entry = useAt(state, use - 1);
      if (load<u32>(entry, U_NEXT)) return;
      switch (<i32>load<u8>(entry, U_TYPE_KIND)) {
        case TypeKind.ANY:
          takesText = true;
          as = load<u8>(state, S_FLAGS) & SpecFlag.INTS ? NumberAs.WHOLE_I64 : NumberAs.F64;
          break;
        case TypeKind.FLOAT:
          break;
        case TypeKind.BIGINT:
          as = NumberAs.I64;
          break;
        case TypeKind.STRING:
          takesText = true;
          as = NumberAs.OTHER;
          break;
        default:
          as = NumberAs.OTHER;
      }
    }
    if (!draft(from, p, use ? Segment.VALUE : Segment.SKIP, use ? use - 1 : 0, use ? blockAt(use - 1) : 0, as, takesText)) return;
    p = scanValue(p, end, depth);
    if (!p) return;
    from = p;
    p = skipSpace(p, end);
    if (load<u8>(p) == 0x2c) p = skipSpace(p + 1, end);
  }
  if (!draft(from, end, Segment.END, 0, 0, 0, false)) return;
  const at = state + (<usize>slot << 2);
  const old = <usize>load<u32>(at, S_SHAPES);
  if (old) free(old, load<u32>(old, 4), account);
  const size = <u32>HEAD + drafted * <u32>SEGMENT;
  const shape = alloc(size, account);
  store<u32>(at, <u32>shape, S_SHAPES);
  if (!shape) return;
  store<u32>(DRAFT, drafted);
  store<u32>(DRAFT, size, 4);
  memory.copy(shape, DRAFT, size);
}
