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
import { afterKey, scanString, scanValue, skipSpace, stringEscaped } from '../json/scan';
import { blockAt, findUse, S_MAX_DEPTH, S_SHAPES, U_NEXT, U_NUMBER, U_TEXT, useAt } from './state';
import { putValue, skipValue } from './value';

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
      p = putValue(
        state, load<u32>(s, G_USE), <usize>load<u32>(s, G_BLOCK), load<u8>(s, G_NUMBER), load<u8>(s, G_TEXT), p, end, row,
      );
      if (!p) return false;
    } else if (kind == Segment.SKIP) {
      p = skipValue(state, p, end);
      if (!p) return false;
    } else if (kind == Segment.END) return p == end;
    s += SEGMENT;
    if (p > end) return false;
  }
}

// ---- learning -------------------------------------------------------------------------------------------------

const DRAFT: usize = memory.data(16 + 80 * 256, 16);
let drafted: u32 = 0;

/** Adds segments for the literal [from, to) and what follows it; false when there are too many. */
function draft(from: usize, to: usize, kind: u8, use: u32, block: usize, as: u8, takesText: u8): bool {
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
    store<u8>(s, takesText, G_TEXT);
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
    const entry = use ? useAt(state, use - 1) : 0;
    if (entry && load<u32>(entry, U_NEXT)) return;
    const as = entry ? load<u8>(entry, U_NUMBER) : 0;
    const takesText = entry ? load<u8>(entry, U_TEXT) : 0;
    if (!draft(from, p, use ? Segment.VALUE : Segment.SKIP, use ? use - 1 : 0, use ? blockAt(use - 1) : 0, as, takesText)) return;
    p = scanValue(p, end, depth);
    if (!p) return;
    from = p;
    p = skipSpace(p, end);
    if (load<u8>(p) == 0x2c) p = skipSpace(p + 1, end);
  }
  if (!draft(from, end, Segment.END, 0, 0, 0, 0)) return;
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
