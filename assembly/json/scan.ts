// Walks over JSON text without making values. Every function takes the position and the end of the text, and never
// looks at meaning beyond `end` (block reads of up to 15 bytes behind it are harmless). It returns the position behind
// the part that it walked over, or 0 after noting the fault in json/fault.ts.
import { isUtf8, putCodePoint } from '../text/utf8';
import { fault } from './fault';

/** Set by scanString: the text has escapes. */
export let stringEscaped: bool = false;

// @ts-ignore: decorator
@inline function isSpace(c: u32): bool {
  return c <= 0x20 && (c == 0x20 || c == 0x0a || c == 0x0d || c == 0x09);
}

// @ts-ignore: decorator
@inline export function skipSpace(p: usize, end: usize): usize {
  let q = p;
  while (q < end && isSpace(load<u8>(q))) q++;
  return q;
}

/**
 * Quotes, backslashes, spaces: read from memory in one instruction, where the compiler would build each of them by
 * three.
 */
const STOPS: usize = memory.data<u64>(
  [
    0x2222222222222222, 0x2222222222222222, 0x5c5c5c5c5c5c5c5c, 0x5c5c5c5c5c5c5c5c, 0x2020202020202020,
    0x2020202020202020,
  ],
  16,
);

/**
 * Finds the closing quote of the string whose first byte is at `p` and returns its position. Escapes, control
 * characters and UTF-8 are checked.
 */
// @ts-ignore: decorator
@inline export function scanString(p: usize, end: usize): usize {
  const v = v128.load(p);
  const stop = <u32>i8x16.bitmask(
    v128.or(
      v128.or(i8x16.eq(v, v128.load(STOPS)), i8x16.eq(v, v128.load(STOPS, 16))),
      i8x16.lt_s(v, v128.load(STOPS, 32)), // control characters, and all bytes of multi-byte characters
    ),
  );
  const q = p + ctz(stop | 0x10000);
  if (load<u8>(q) == 0x22 && q < end) {
    stringEscaped = false;
    return q;
  }
  return scanLongString(p, end);
}

function scanLongString(p: usize, end: usize): usize {
  let q = p;
  let wide: u32 = 0;
  stringEscaped = false;
  while (q < end) {
    const v = v128.load(q);
    const high = <u32>i8x16.bitmask(v);
    let stop = <u32>(
      i8x16.bitmask(
        v128.or(
          v128.or(i8x16.eq(v, i8x16.splat(0x22)), i8x16.eq(v, i8x16.splat(0x5c))),
          i8x16.le_u(v, i8x16.splat(0x1f)),
        ),
      )
    );
    if (stop == 0) {
      wide |= high;
      q += 16;
      continue;
    }
    let next: u32 = 16;
    do {
      const n = ctz(stop);
      const at = q + n;
      if (at >= end) return fault('string without closing quote', p);
      const c = <u32>load<u8>(at);
      if (c == 0x22) {
        wide |= high & ((1 << n) - 1);
        if (wide != 0 && !isUtf8(p, at)) return fault('invalid UTF-8 in a string', p);
        return at;
      }
      if (c != 0x5c) return fault('control character in a string', at);
      stringEscaped = true;
      const e = at + 1 < end ? <u32>load<u8>(at, 1) : 0;
      next = n + 2;
      if (e == 0x75) {
        if (at + 6 > end || hex4(at + 2) < 0) return fault('invalid \\u escape', at);
        next = n + 6;
      } else if (!isEscape(e)) return fault('invalid escape in a string', at);
      if (next >= 16) break;
      stop &= -1 << next;
      next = 16;
    } while (stop);
    wide |= high;
    q += next;
  }
  return fault('string without closing quote', p);
}

/** Whether a backslash may stand before the character, \u aside. */
// @ts-ignore: decorator
@inline function isEscape(e: u32): bool {
  const from = e - 0x5c; // \ b f n r t
  const short: u32 = 1 | (1 << 6) | (1 << 10) | (1 << 18) | (1 << 22) | (1 << 24);
  return from <= 24 ? ((short >> from) & 1) != 0 : e == 0x22 || e == 0x2f;
}

// @ts-ignore: decorator
@inline function hexDigit(c: u32): i32 {
  const digit = c - 48;
  const letter = (c | 32) - 97;
  return select<i32>(digit, select<i32>(letter + 10, -1, letter < 6), digit < 10);
}

/** Value of four hexadecimal digits, negative when they are none. */
function hex4(p: usize): i32 {
  const a = hexDigit(load<u8>(p));
  const b = hexDigit(load<u8>(p, 1));
  const c = hexDigit(load<u8>(p, 2));
  const d = hexDigit(load<u8>(p, 3));
  return (a | b | c | d) < 0 ? -1 : (a << 12) | (b << 8) | (c << 4) | d;
}

/**
 * Writes the string [p0, end), checked by scanString, without escapes to `out` and returns the end of the output. `out`
 * needs end - p0 bytes; up to 16 behind them may be overwritten (a pool has them). Surrogates without partner become
 * U+FFFD.
 */
export function unescape(p0: usize, end: usize, out: usize): usize {
  let p = p0;
  let at = out;
  while (p < end) {
    const v = v128.load(p);
    v128.store(at, v);
    const plain = min(<usize>ctz(<u32>i8x16.bitmask(i8x16.eq(v, i8x16.splat(0x5c))) | 0x10000), end - p);
    p += plain;
    at += plain;
    if (plain == 16 || p == end) continue;
    const e = <u32>load<u8>(p, 1);
    if (e != 0x75) {
      store<u8>(at++, e == 0x6e ? 0x0a : e == 0x74 ? 0x09 : e == 0x72 ? 0x0d : e == 0x62 ? 0x08 : e == 0x66 ? 0x0c : e);
      p += 2;
      continue;
    }
    let code = <u32>hex4(p + 2);
    p += 6;
    if (code - 0xd800 < 0x800) {
      let low: u32 = 0;
      if (code < 0xdc00 && p + 6 <= end && load<u16>(p) == 0x755c) low = <u32>hex4(p + 2);
      if (low - 0xdc00 < 0x400) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        p += 6;
      } else code = 0xfffd;
    }
    at = putCodePoint(at, code);
  }
  return at;
}

// @ts-ignore: decorator
@inline function isDigit(c: u32): bool {
  return c - 48 < 10;
}

/** Whether the number in [p, end) has a zero before other digits in front of its point, which JSON does not have. */
// @ts-ignore: decorator
@inline export function isPadded(p: usize, end: usize): bool {
  const first = p + <usize>(load<u8>(p) == 0x2d);
  return load<u8>(first) == 48 && first + 1 < end && isDigit(load<u8>(first, 1));
}

/**
 * Walks over a number. Byte by byte: processors predict where a number ends and go on behind it,
 * where a length found by SIMD would have to be waited for.
 */
// @ts-ignore: decorator
@inline export function scanNumber(p: usize, end: usize): usize {
  let q = p + <usize>(load<u8>(p) == 0x2d);
  let c = <u32>load<u8>(q);
  if (c == 48) {
    c = <u32>load<u8>(++q);
    if (isDigit(c)) return scanAnyNumber(p, end);
  } else {
    if (!isDigit(c)) return scanAnyNumber(p, end);
    do c = <u32>load<u8>(++q);
    while (isDigit(c));
  }
  if (c == 0x2e) {
    if (!isDigit(load<u8>(++q))) return scanAnyNumber(p, end);
    do q++;
    while (isDigit(load<u8>(q)));
    c = <u32>load<u8>(q);
  }
  return (c | 32) == 0x65 || q > end ? scanAnyNumber(p, end) : q;
}

/** Walks over any number, broken ones and those cut off at `end` included. */
function scanAnyNumber(p0: usize, end: usize): usize {
  let p = p0;
  if (p < end && load<u8>(p) == 0x2d) p++;
  const whole = p;
  while (p < end && <u32>load<u8>(p) - 48 < 10) p++;
  if (p == whole) return fault('a digit was expected', p);
  if (p > whole + 1 && load<u8>(whole) == 48) return fault('a number begins with a zero', whole);
  if (p < end && load<u8>(p) == 0x2e) {
    const fraction = ++p;
    while (p < end && <u32>load<u8>(p) - 48 < 10) p++;
    if (p == fraction) return fault('a digit was expected after the point', p);
  }
  if (p < end && (load<u8>(p) | 32) == 0x65) {
    p++;
    if (p < end && (load<u8>(p) == 0x2d || load<u8>(p) == 0x2b)) p++;
    const exponent = p;
    while (p < end && <u32>load<u8>(p) - 48 < 10) p++;
    if (p == exponent) return fault('a digit was expected in the exponent', p);
  }
  return p;
}

/** Walks over `true`, `false` or `null`. */
export function scanWord(p: usize, end: usize): usize {
  if (p + 4 <= end) {
    const word = load<u32>(p);
    if (word == 0x65757274 || word == 0x6c6c756e) return p + 4;
    if (word == 0x736c6166 && p + 5 <= end && load<u8>(p, 4) == 0x65) return p + 5;
  }
  return fault(p < end ? 'a value was expected' : 'the text ends where a value was expected', p);
}

/** Walks over any value nested at most `depth` deep and checks it as completely as the parser would. */
export function scanValue(p0: usize, end: usize, depth: i32): usize {
  let p = p0;
  if (p >= end) return fault('the text ends where a value was expected', p);
  const c = <u32>load<u8>(p);
  if (c == 0x22) {
    p = scanString(p + 1, end);
    return p ? p + 1 : 0;
  }
  if (c == 0x2d || c - 48 < 10) return scanNumber(p, end);
  if (c != 0x7b && c != 0x5b) return scanWord(p, end);
  if (depth <= 0) return fault('nested too deeply', p);
  const isObject = c == 0x7b;
  const close: u32 = c + 2;
  p = skipSpace(p + 1, end);
  if (p < end && load<u8>(p) == close) return p + 1;
  while (true) {
    if (isObject) {
      p = scanKey(p, end);
      if (!p) return 0;
    }
    p = scanValue(p, end, depth - 1);
    if (!p) return 0;
    p = skipSpace(p, end);
    const next: u32 = p < end ? load<u8>(p) : 0;
    if (next == close) return p + 1;
    if (next != 0x2c) return fault(isObject ? "',' or '}' was expected" : "',' or ']' was expected", p);
    p = skipSpace(p + 1, end);
  }
}

/** Walks over a key, the colon and the space after it. */
// @ts-ignore: decorator
@inline function scanKey(p0: usize, end: usize): usize {
  if (p0 >= end || load<u8>(p0) != 0x22) return fault('a key was expected', p0);
  const p = scanString(p0 + 1, end);
  return p ? afterKey(p + 1, end) : 0;
}

/** From behind a key to its value. */
// @ts-ignore: decorator
@inline export function afterKey(p0: usize, end: usize): usize {
  let p = skipSpace(p0, end);
  if (p >= end || load<u8>(p) != 0x3a) return fault("':' was expected after the key", p);
  return skipSpace(p + 1, end);
}
