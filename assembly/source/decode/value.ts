// One value of the payload into its column.
import * as ctx from '../../batch/context';
import { COL_HAS_RAW, COL_RAW, COL_TAGS, COL_VALS, span, Tag } from '../../mem/layout';
import { poolAlloc } from '../../mem/pool';
import { parseAt, valuePayload, valueTag } from '../../json/parse';
import { isPadded, scanNumber, scanString, scanValue, stringEscaped, unescape } from '../../json/scan';
import { TypeKind } from '../../json/type';
import { f64Canonical, f64End, f64Whole, parseF64 } from '../../text/f64-parse';
import { POW10_F64 } from '../../text/wide';
import { filling, put } from '../columns/batch';
import { StreamFlag } from '../columns/state';
import { Use, NumberAs } from '../columns/use';

/**
 * Decodes the value at `p` into the column of a use. Returns the position after it, 0 on failure. A position behind
 * `end` is a number that ran out of its message.
 */
export function putValue(use: Use, p: usize, end: usize, row: u32): usize {
  const c = <u32>load<u8>(p);
  if (c == 0x22) {
    if (use.takesText) return putText(use, p + 1, end, row);
  } else if (c - 0x2d <= 12) {
    // digits, minus and what putNumber refuses
    const q = putNumber(use, row, p);
    if (q) return q;
  }
  return putField(use, p, end, row);
}

/**
 * Stores the text whose first byte, behind the quote, is at `p`; returns the position behind the other quote, 0 on
 * failure.
 */
// @ts-ignore: decorator
@inline export function putText(use: Use, p: usize, end: usize, row: u32): usize {
  const q = scanString(p, end);
  if (!q) return 0;
  if (stringEscaped) return putEscaped(use.block, row, p, q);
  put(use.block, row, Tag.STR, span(p, <u32>(q - p)));
  return q + 1;
}

/** Walks over the text whose first byte is at `p`; returns the position behind its closing quote, 0 on failure. */
// @ts-ignore: decorator
@inline export function skipText(p: usize, end: usize): usize {
  const q = scanString(p, end);
  return q ? q + 1 : 0;
}

function putEscaped(block: usize, row: u32, p: usize, q: usize): usize {
  const to = poolAlloc(ctx.scratch, <u32>(q - p));
  if (!to) return 0;
  put(block, row, Tag.STR, span(to, <u32>(unescape(p, q, to) - to)));
  return q + 1;
}

/** Decodes the value at `p` into the column of a use; returns the position after it, 0 on failure. */
function putField(use: Use, p: usize, end: usize, row: u32): usize {
  const state = filling;
  const block = use.block;
  const kind = use.typeKind;
  const c = p < end ? <u32>load<u8>(p) : 0;
  if ((c == 0x2d || c - 48 < 10) && (kind == TypeKind.FLOAT || kind == TypeKind.ANY)) {
    const v = parseF64(p, end);
    const q = f64End;
    if (q != p && !isPadded(p, q) && !(f64Whole && kind == TypeKind.ANY && state.flags & StreamFlag.INTS)) {
      const at = block + ((<usize>row) << 3);
      store<f64>(at, v, COL_VALS);
      store<u8>(block + row, Tag.F64, COL_TAGS);
      store<u64>(at, f64Canonical ? span(p, <u32>(q - p)) : 0, COL_RAW);
      store<u8>(block, 1, COL_HAS_RAW);
      return q;
    }
  }
  const type = use.type;
  const name = use.name;
  const q = parseAt(p, end, <i32>state.maxDepth - 1, type, name, use.nameLen);
  if (q) put(block, row, valueTag, valuePayload);
  return q;
}

/** Walks over a value that nobody needs and checks it. */
export function skipValue(p: usize, end: usize): usize {
  const c = <u32>load<u8>(p);
  if (c == 0x22) return skipText(p + 1, end);
  if (c == 0x2d || c - 48 < 10) return scanNumber(p, end);
  return scanValue(p, end, <i32>filling.maxDepth - 1);
}

/**
 * Stores a short number without exponent; 0 for others. The byte after the message is no digit, or belongs to the next
 * message: a number that runs out of its message is noticed when the literal after it does not match.
 */
// @ts-ignore: decorator
@inline function putNumber(use: Use, row: u32, p0: usize): usize {
  const negative = load<u8>(p0) == 0x2d;
  const start = p0 + <usize>negative;
  let p = start;
  let m: u64 = 0;
  let c = <u32>load<u8>(p) - 48;
  while (c < 10) {
    m = m * 10 + c;
    c = <u32>load<u8>(++p) - 48;
  }
  let digits = <u32>(p - start);
  const first = load<u8>(start);
  if (digits == 0 || (first == 48 && digits > 1)) return 0;
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
    digits += fraction;
  }
  // Up to 15 digits are exact as a double.
  if (digits > 15) return 0;
  if ((c | 32) == 0x35) return putScaled(use, row, negative, m, fraction, p);
  const as = use.numberAs;
  const block = use.block;
  const at = block + ((<usize>row) << 3);
  let raw = span(p0, <u32>(p - p0));
  if (m == 0 && negative) raw = 0;
  if (as == NumberAs.F64 || (as == NumberAs.WHOLE_I64 && fraction != 0)) {
    let v = <f64>(<i64>m);
    if (fraction) {
      v /= load<f64>(POW10_F64 + ((<usize>fraction) << 3));
      if (load<u8>(p - 1) == 48) raw = 0;
      if (first == 48 && fraction > 6) raw = 0;
    }
    store<f64>(at, negative ? -v : v, COL_VALS);
    store<u8>(block + row, Tag.F64, COL_TAGS);
  } else {
    if (fraction != 0 || as == NumberAs.OTHER) return 0;
    store<i64>(at, negative ? -(<i64>m) : <i64>m, COL_VALS);
    store<u8>(block + row, Tag.I64, COL_TAGS);
  }
  store<u8>(block, 1, COL_HAS_RAW);
  store<u64>(at, raw, COL_RAW);
  return p;
}

/** Stores a short number whose exponent stands at `p`; 0 for large exponents and where no double is wanted. */
function putScaled(use: Use, row: u32, negative: bool, m: u64, fraction: u32, p: usize): usize {
  const sign = <u32>load<u8>(p, 1);
  let q = p + 1 + <usize>(sign == 0x2b || sign == 0x2d);
  let c = <u32>load<u8>(q) - 48;
  const as = use.numberAs;
  if (c >= 10 || (as != NumberAs.F64 && as != NumberAs.WHOLE_I64)) return 0;
  let exponent: u32 = 0;
  do {
    if (exponent > 99) return 0;
    exponent = exponent * 10 + c;
    c = <u32>load<u8>(++q) - 48;
  } while (c < 10);
  const scale = (sign == 0x2d ? -(<i32>exponent) : <i32>exponent) - <i32>fraction;
  if (scale < -22 || scale > 22) return 0;
  let v = <f64>(<i64>m);
  v = scale < 0 ? v / load<f64>(POW10_F64 + ((<usize>-scale) << 3)) : v * load<f64>(POW10_F64 + ((<usize>scale) << 3));
  put(use.block, row, Tag.F64, reinterpret<u64>(negative ? -v : v));
  return q;
}
