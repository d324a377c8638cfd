// Values to JSON text. Writers need as many bytes at `p` as jsonSizeBound says and return the end of what they wrote;
// block stores may touch bytes up to the bound.
import {
  lenOf,
  MEMBER_KEY_LEN,
  MEMBER_KEY_OFF,
  MEMBER_SIZE,
  MEMBER_TAG,
  NO_LIST,
  offOf,
  SLOT_SIZE,
  SLOT_TAG,
  Tag,
} from '../mem/layout';
import { failNotFinite } from '../batch/failure';
import { base64Length, printBase64 } from '../text/base64';
import { MAX_F64_TEXT, printF64 } from '../text/f64-print';
import { printI64 } from '../text/i64';
import { MAX_TIME_TEXT, timePrint } from '../text/time';
import { sequenceLength } from '../text/utf8';

/** Block stores write up to this much more than the text. */
const SLACK: u64 = 40;

/** Bytes that jsonWriteValue may touch for the value. */
export function jsonSizeBound(tag: u8, payload: u64): u64 {
  if (tag < Tag.STR) return MAX_F64_TEXT;
  if (tag == Tag.TIME) return MAX_TIME_TEXT + 2;
  const n = lenOf(payload);
  if (tag == Tag.STR || tag == Tag.ERROR) return <u64>n * 6 + SLACK;
  if (tag == Tag.BYTES) return base64Length(n) + SLACK;
  let bound = SLACK;
  let at = offOf(payload);
  if (tag == Tag.ARRAY) {
    for (let i: u32 = 0; i < n; i++, at += SLOT_SIZE) bound += 1 + jsonSizeBound(load<u8>(at, SLOT_TAG), load<u64>(at));
  } else {
    for (let i: u32 = 0; i < n; i++, at += MEMBER_SIZE) {
      bound += 4 + <u64>load<u32>(at, MEMBER_KEY_LEN) * 6 + jsonSizeBound(load<u8>(at, MEMBER_TAG), load<u64>(at));
    }
  }
  return bound;
}

/** Writes a finite double. */
// @ts-ignore: decorator
@inline export function jsonWriteF64(p: usize, v: f64): usize {
  return printF64(p, v);
}

// @ts-ignore: decorator
@inline export function jsonWriteI64(p: usize, v: i64): usize {
  return printI64(p, v);
}

// Constants of blocks: read from memory in one instruction, where the compiler would build each of them by three.
const QUOTES: usize = memory.data<u64>(
  [0x2222222222222222, 0x2222222222222222, 0x5c5c5c5c5c5c5c5c, 0x5c5c5c5c5c5c5c5c],
  16,
);
const ANGLES: usize = memory.data<u64>(
  [0x0202020202020202, 0x0202020202020202, 0x3e3e3e3e3e3e3e3e, 0x3e3e3e3e3e3e3e3e],
  16,
);
const AMPERSANDS: usize = memory.data<u64>([0x2626262626262626, 0x2626262626262626], 16);
const BLANKS: usize = memory.data<u64>([0x2020202020202020, 0x2020202020202020], 16);

/**
 * Bits of the bytes of a block that cannot be copied as they are: quotes, backslashes, control characters, `<` `>` `&`,
 * and bytes above ASCII. As signed numbers, control characters and bytes above ASCII are below the blank.
 */
// @ts-ignore: decorator
@inline function special(v: v128): u32 {
  const quotes = v128.or(i8x16.eq(v, v128.load(QUOTES)), i8x16.eq(v, v128.load(QUOTES, 16)));
  // '<' and '>' differ in one bit.
  const angles = i8x16.eq(v128.or(v, v128.load(ANGLES)), v128.load(ANGLES, 16));
  const others = v128.or(i8x16.eq(v, v128.load(AMPERSANDS)), i8x16.lt_s(v, v128.load(BLANKS)));
  return <u32>i8x16.bitmask(v128.or(v128.or(quotes, angles), others));
}

/** Writes a string with quotes; at most 6 bytes for each of its bytes, and 34. Two blocks hold most texts. */
// @ts-ignore: decorator
@inline export function jsonWriteString(p: usize, off: usize, len: u32): usize {
  store<u8>(p, 0x22);
  if (len <= 32) {
    const first = v128.load(off);
    // A short text has no second block: the first one is taken again.
    const second = v128.load(off + ((<usize>(len > 16)) << 4));
    v128.store(p, first, 1);
    v128.store(p, second, 17);
    const stops = special(first) | (special(second) << 16);
    if ((<u64>stops & (((<u64>1) << len) - 1)) == 0) {
      store<u8>(p + len, 0x22, 1);
      return p + len + 2;
    }
  }
  return writeLongString(p + 1, off, off + len);
}

/** Writes bytes as base64. */
// @ts-ignore: decorator
@inline export function jsonWriteBytes(p: usize, off: usize, len: u32): usize {
  store<u8>(p, 0x22);
  const end = printBase64(p + 1, off, len);
  store<u8>(end, 0x22);
  return end + 1;
}

function writeLongString(p: usize, off: usize, end: usize): usize {
  let from = off;
  let to = p;
  while (from < end) {
    const v = v128.load(from);
    v128.store(to, v);
    const left = end - from;
    let stop = special(v);
    if (left < 16) stop &= (1 << (<u32>left)) - 1;
    if (stop == 0) {
      const n = min(left, <usize>16);
      from += n;
      to += n;
      continue;
    }
    const n = ctz(stop);
    from += n;
    to += n;
    const c = <u32>load<u8>(from);
    if (c < 0x80) {
      to = writeEscape(to, c);
      from++;
      continue;
    }
    do {
      const n = sequenceLength(from, end);
      const next = load<u32>(from);
      if (n && (n != 3 || (next & 0xfeffff) != LINE_ENDS)) {
        store<u32>(to, next);
        to += n;
        from += n;
        continue;
      }
      to = n ? writeLineEnd(to, next) : writeReplacement(to);
      from += max<usize>(n, 1);
    } while (from < end && load<u8>(from) >= 0x80);
  }
  store<u8>(to, 0x22);
  return to + 1;
}

/** U+2028, or with the lowest bit of its last byte U+2029. */
const LINE_ENDS: u32 = 0xa880e2;

/** U+2028 and U+2029 end lines in scripts. */
function writeLineEnd(to: usize, bytes: u32): usize {
  store<u32>(to, 0x3032755c);
  store<u8>(to, 0x32, 4);
  store<u8>(to, 0x38 + <u8>((bytes >> 16) & 1), 5);
  return to + 6;
}

/** Character in the place of a byte that is part of no character: \ufffd. */
function writeReplacement(to: usize): usize {
  store<u32>(to, 0x6666755c);
  store<u16>(to, 0x6466, 4);
  return to + 6;
}

// @ts-ignore: decorator
@inline function hexOf(v: u32): u8 {
  return <u8>(v < 10 ? 48 + v : 87 + v);
}

function writeEscape(to: usize, c: u32): usize {
  let letter: u32 = 0;
  if (c == 0x22 || c == 0x5c) letter = c;
  else if (c == 0x0a) letter = 0x6e;
  else if (c == 0x0d) letter = 0x72;
  else if (c == 0x09) letter = 0x74;
  else if (c == 0x08) letter = 0x62;
  else if (c == 0x0c) letter = 0x66;
  store<u8>(to, 0x5c);
  if (letter) {
    store<u8>(to, <u8>letter, 1);
    return to + 2;
  }
  store<u16>(to, 0x3075, 1);
  store<u8>(to, 0x30, 3);
  store<u8>(to, hexOf(c >> 4), 4);
  store<u8>(to, hexOf(c & 15), 5);
  return to + 6;
}

/**
 * * Writes any value; 0 when it holds a number that JSON does not have (the reason then stands in batch/failure.ts).
 * BYTES * become base64, TIME RFC 3339 text; MISSING is null.
 */
export function jsonWriteValue(p: usize, tag: u8, payload: u64): usize {
  switch (<i32>tag) {
    case Tag.BOOL:
      if (payload) {
        store<u32>(p, 0x65757274); // true
        return p + 4;
      }
      store<u32>(p, 0x736c6166); // fals
      store<u8>(p, 0x65, 4);
      return p + 5;
    case Tag.I64:
      return printI64(p, <i64>payload);
    case Tag.F64:
      if ((payload & 0x7ff0000000000000) == 0x7ff0000000000000) {
        failNotFinite(reinterpret<f64>(payload));
        return 0;
      }
      return printF64(p, reinterpret<f64>(payload));
    case Tag.STR:
    case Tag.ERROR:
      return jsonWriteString(p, offOf(payload), lenOf(payload));
    case Tag.BYTES:
      return jsonWriteBytes(p, offOf(payload), lenOf(payload));
    case Tag.TIME: {
      store<u8>(p, 0x22);
      const q = timePrint(p + 1, <i64>payload);
      store<u8>(q, 0x22);
      return q + 1;
    }
    case Tag.ARRAY:
      if (payload == NO_LIST) {
        store<u32>(p, 0x6c6c756e); // null
        return p + 4;
      }
      return writeArray(p, offOf(payload), lenOf(payload));
    case Tag.OBJECT:
      return writeObject(p, offOf(payload), lenOf(payload));
    default:
      store<u32>(p, 0x6c6c756e); // null
      return p + 4;
  }
}

function writeArray(p: usize, slots: usize, n: u32): usize {
  let to = p;
  let at = slots;
  store<u8>(to++, 0x5b);
  for (let i: u32 = 0; i < n; i++, at += SLOT_SIZE) {
    if (i) store<u8>(to++, 0x2c);
    to = jsonWriteValue(to, load<u8>(at, SLOT_TAG), load<u64>(at));
    if (!to) return 0;
  }
  store<u8>(to, 0x5d);
  return to + 1;
}

function writeObject(p: usize, members: usize, n: u32): usize {
  let to = p;
  let at = members;
  store<u8>(to++, 0x7b);
  for (let i: u32 = 0; i < n; i++, at += MEMBER_SIZE) {
    if (i) store<u8>(to++, 0x2c);
    to = jsonWriteString(to, <usize>load<u32>(at, MEMBER_KEY_OFF), load<u32>(at, MEMBER_KEY_LEN));
    store<u8>(to++, 0x3a);
    to = jsonWriteValue(to, load<u8>(at, MEMBER_TAG), load<u64>(at));
    if (!to) return 0;
  }
  store<u8>(to, 0x7d);
  return to + 1;
}
