// Loops over whole columns of texts, most of which are short: what can be decided by one block of 16 bytes is, without
// jumps that nobody could predict and without a call for each row. Texts that are longer, or not in ASCII, are left to
// the function of the row. Blocks may be read behind a text, and written behind one in the pool.
import * as ctx from '../../batch/context';
import { COL_TAGS, COL_UNIFORM, COL_VALS, OPERAND_NONE, Tag, lenOf, offOf, span } from '../../mem/layout';
import { shortRoom } from '../result';
import { constOf, isConst, program, valsOf } from '../operand';
import { dstOf, outTag, outVal, setUniform, uniformOf } from '../row-loops';
import { count, isCount, part } from './text-of';
import { Operation } from '../../gen/ops-layouts';

const BLOCK: u32 = 16;

/** 0 to 15. */
const PLACES: usize = memory.data<u64>([0x0706050403020100, 0x0f0e0d0c0b0a0908], 16);

/** The operand is a column of texts alone. */
// @ts-ignore: decorator
@inline export function isTextColumn(operand: u32): bool {
  return !isConst(operand) && uniformOf(operand) == Tag.STR;
}

/** Bits of the first `len` bytes of a block, at most 16. */
// @ts-ignore: decorator
@inline function bitsOf(len: u32): u32 {
  return (1 << len) - 1;
}

/** Stores the result of the function for the row in a column of texts. */
// @ts-ignore: decorator
@inline function putGiven(dst: usize, row: usize): void {
  store<u8>(dst + row, outTag, COL_TAGS);
  store<u64>(dst + (row << 3), outVal, COL_VALS);
  if (outTag != Tag.STR) store<u8>(dst, Tag.MIXED, COL_UNIFORM);
}

/**
 * Texts in ASCII in the opposite order, or with letters in the other case, `first` being the first letter to change;
 * `f` does other texts. `reverses` is a constant of each caller.
 */
// @ts-ignore: decorator
@inline function turnColumn(op: Operation, reverses: bool, first: u8, f: (text: u64) => void): void {
  const vals = valsOf(program, op.a);
  const dst = dstOf(op);
  const sel = ctx.sel;
  const n = ctx.selLen;
  setUniform(dst, Tag.STR);
  for (let k: u32 = 0; k < n; k++) {
    const row = <usize>load<u32>(sel + (k << 2));
    const text = load<u64>(vals + (row << 3));
    const len = lenOf(text);
    if (len <= BLOCK) {
      const v = v128.load(offOf(text));
      if ((<u32>i8x16.bitmask(v) & bitsOf(len)) == 0) {
        const to = shortRoom(len);
        if (to) {
          if (reverses) v128.store(to, i8x16.swizzle(v, i8x16.sub(i8x16.splat(<i8>(len - 1)), v128.load(PLACES))));
          else {
            const hits = i8x16.lt_u(i8x16.sub(v, i8x16.splat(<i8>first)), i8x16.splat(26));
            v128.store(to, v128.xor(v, v128.and(hits, i8x16.splat(0x20))));
          }
          store<u64>(dst + (row << 3), span(to, len), COL_VALS);
          continue;
        }
      }
    }
    f(text);
    putGiven(dst, row);
  }
}

/** ASCII letters in the other case, `first` being the first letter to change; `f` does other texts. */
// @ts-ignore: decorator
@inline export function caseOfColumn(op: Operation, first: u8, f: (text: u64) => void): void {
  turnColumn(op, false, first, f);
}

/** The characters in the opposite order; `f` does other texts. */
// @ts-ignore: decorator
@inline export function reverseColumn(op: Operation, f: (text: u64) => void): void {
  turnColumn(op, true, 0, f);
}

/** A visible character of ASCII. */
// @ts-ignore: decorator
@inline function isVisible(c: u32): bool {
  return c - 0x21 < 0x5e;
}

/** Texts without the blanks at the ends that `atStart` and `atEnd` say, which are constants of each caller. */
// @ts-ignore: decorator
@inline export function trimColumn(op: Operation, atStart: bool, atEnd: bool, f: (text: u64) => void): void {
  const vals = valsOf(program, op.a);
  const dst = dstOf(op);
  const sel = ctx.sel;
  const n = ctx.selLen;
  setUniform(dst, Tag.STR);
  const blank = i8x16.splat(0x20);
  for (let k: u32 = 0; k < n; k++) {
    const row = <usize>load<u32>(sel + (k << 2));
    const text = load<u64>(vals + (row << 3));
    const from = offOf(text);
    const len = lenOf(text);
    const end = from + len;
    let before: u32 = 0;
    let behind: u32 = 0;
    if (atStart) before = ctz(~(<u32>i8x16.bitmask(i8x16.eq(v128.load(from), blank))));
    if (atEnd) behind = clz(~((<u32>i8x16.bitmask(i8x16.eq(v128.load(max<usize>(end, BLOCK) - BLOCK), blank))) << 16));
    // Visible characters at both ends of the rest are the ends of the result.
    if (
      before + behind < len &&
      (!atStart || isVisible(load<u8>(from + before))) &&
      (!atEnd || isVisible(load<u8>(end - behind - 1)))
    ) {
      store<u64>(dst + (row << 3), part(text, before, len - behind), COL_VALS);
      continue;
    }
    f(text);
    putGiven(dst, row);
  }
}

/** Lengths of texts up to 64 bytes in ASCII; `f` counts the characters of others. */
// @ts-ignore: decorator
@inline export function lengthsOfColumn(op: Operation, f: (at: usize, len: u32) => u32): void {
  const vals = valsOf(program, op.a);
  const dst = dstOf(op);
  const sel = ctx.sel;
  const n = ctx.selLen;
  setUniform(dst, Tag.I64);
  for (let k: u32 = 0; k < n; k++) {
    const row = <usize>load<u32>(sel + (k << 2));
    const text = load<u64>(vals + (row << 3));
    const from = offOf(text);
    const len = lenOf(text);
    // Four blocks, which overlap: how many a text has cannot be known before.
    const last = select<u32>(len - BLOCK, 0, len > BLOCK);
    const all = v128.or(
      v128.or(v128.load(from), v128.load(from + min<u32>(last, 16))),
      v128.or(v128.load(from + min<u32>(last, 32)), v128.load(from + last)),
    );
    const isShort = len <= 64 && (<u32>i8x16.bitmask(all) & bitsOf(min(len, BLOCK))) == 0;
    store<u64>(dst + (row << 3), isShort ? len : f(from, len), COL_VALS);
  }
}

/** Parts of texts between two places that are the same for all rows; false when they are not, or none. */
export function partsOfColumn(op: Operation): bool {
  const a = op.a;
  const b = op.b;
  const c = op.c;
  if (!isTextColumn(a) || !isConst(b) || !isConst(c) || !isPlace(b)) return false;
  const start = <u32>count;
  let end: u32 = u32.MAX_VALUE;
  if (c != OPERAND_NONE) {
    if (!isPlace(c)) return false;
    end = <u32>count;
    if (end < start) return false;
  }
  const vals = valsOf(program, a);
  const dst = dstOf(op);
  const sel = ctx.sel;
  const n = ctx.selLen;
  for (let k: u32 = 0; k < n; k++) {
    const at = (<usize>load<u32>(sel + (k << 2))) << 3;
    const text = load<u64>(vals + at);
    const len = lenOf(text);
    const from = min(start, len);
    store<u64>(dst + at, part(text, from, max(from, min(end, len))), COL_VALS);
  }
  setUniform(dst, Tag.STR);
  return true;
}

/** The constant is a place in a text, which is in `count` then. */
function isPlace(operand: u32): bool {
  const slot = constOf(program, operand);
  return isCount(load<u8>(slot, 8), load<u64>(slot)) && count >= 0 && count < 0x7fffffff;
}

/** The constant is a text of one byte. */
// @ts-ignore: decorator
@inline export function isByte(operand: u32): bool {
  return isConst(operand) && uniformOf(operand) == Tag.STR && lenOf(load<u64>(constOf(program, operand))) == 1;
}

// @ts-ignore: decorator
@inline function byteOf(operand: u32): i8 {
  return load<i8>(offOf(load<u64>(constOf(program, operand))));
}

/** Finds the first place of one byte, the same for all rows; `f` seeks it in texts of more than 16. */
// @ts-ignore: decorator
@inline export function placesOfByte(
  op: Operation,
  f: (hay: usize, hayLen: u32, needle: usize, needleLen: u32, from: u32) => i32,
): void {
  const needle = offOf(load<u64>(constOf(program, op.b)));
  const sought = i8x16.splat(load<i8>(needle));
  const vals = valsOf(program, op.a);
  const dst = dstOf(op);
  const sel = ctx.sel;
  const n = ctx.selLen;
  setUniform(dst, Tag.I64);
  for (let k: u32 = 0; k < n; k++) {
    const at = (<usize>load<u32>(sel + (k << 2))) << 3;
    const text = load<u64>(vals + at);
    const len = lenOf(text);
    let place: i32;
    if (len <= BLOCK) {
      const hits = <u32>i8x16.bitmask(i8x16.eq(v128.load(offOf(text)), sought)) & bitsOf(len);
      place = select<i32>(<i32>ctz(hits), -1, hits != 0);
    } else place = f(offOf(text), len, needle, 1, 0);
    store<i64>(dst + at, <i64>place, COL_VALS);
  }
}

/** Replaces one byte by another one everywhere; `f` does texts of more than 16. */
// @ts-ignore: decorator
@inline export function exchangeInColumn(op: Operation, f: (text: u64, old: u64, fresh: u64) => void): void {
  const b = op.b;
  const c = op.c;
  const old = i8x16.splat(byteOf(b));
  const fresh = i8x16.splat(byteOf(c));
  const vals = valsOf(program, op.a);
  const dst = dstOf(op);
  const sel = ctx.sel;
  const n = ctx.selLen;
  setUniform(dst, Tag.STR);
  for (let k: u32 = 0; k < n; k++) {
    const row = <usize>load<u32>(sel + (k << 2));
    const text = load<u64>(vals + (row << 3));
    const len = lenOf(text);
    if (len <= BLOCK) {
      const v = v128.load(offOf(text));
      const hits = i8x16.eq(v, old);
      if ((<u32>i8x16.bitmask(hits) & bitsOf(len)) == 0) {
        store<u64>(dst + (row << 3), text, COL_VALS);
        continue;
      }
      const to = shortRoom(len);
      if (to) {
        v128.store(to, v128.bitselect(fresh, v, hits));
        store<u64>(dst + (row << 3), span(to, len), COL_VALS);
        continue;
      }
    }
    f(text, load<u64>(constOf(program, b)), load<u64>(constOf(program, c)));
    putGiven(dst, row);
  }
}
