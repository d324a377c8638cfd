// Values in the engine's own binary form, which keeps what JSON text does not: integers beside floats, bytes, times.
// Memory topics carry it between rules. A message is an OBJECT (one row) or an ARRAY of them.
//
//   value    tag u8, then: BOOL u8 | I64, F64, TIME 8 bytes | STR, BYTES, ERROR len u32, bytes |
//            ARRAY count u32, values | OBJECT count u32, members: keyLen u32, key, value (keys ascending, unique)
//
// Numbers are little-endian and not aligned.
import {
  MEMBER_KEY_LEN,
  MEMBER_KEY_OFF,
  MEMBER_SIZE,
  MEMBER_TAG,
  SLOT_SIZE,
  SLOT_TAG,
  isNoList,
  span,
  Tag,
} from '../mem/layout';
import { isUtf8 } from '../text/utf8';
import { push, stacked, takeArray, taken, takeObject, unstack } from './tree';
import { Pool } from '../mem/pool';

/** The value read last by rowsRead. */
export let rowsTag: u8 = 0;
export let rowsPayload: u64 = 0;

/** Bytes of a value in this form. */
export function rowsSize(tag: u8, payload: u64): u64 {
  if (tag <= Tag.NULL || isNoList(tag, payload)) return 1;
  if (tag == Tag.BOOL) return 2;
  if (tag == Tag.STR || tag == Tag.BYTES || tag == Tag.ERROR) return 5 + (payload >> 32);
  if (tag < Tag.ARRAY) return 9;
  let size: u64 = 5;
  let at = <usize>(<u32>payload);
  for (let n = <u32>(payload >> 32); n > 0; n--) {
    if (tag == Tag.ARRAY) {
      size += rowsSize(load<u8>(at, SLOT_TAG), load<u64>(at));
      at += SLOT_SIZE;
    } else {
      size += 4 + load<u32>(at, MEMBER_KEY_LEN) + rowsSize(load<u8>(at, MEMBER_TAG), load<u64>(at));
      at += MEMBER_SIZE;
    }
  }
  return size;
}

/** Writes a value (rowsSize bytes) and returns the end. */
export function rowsWrite(out: usize, tag: u8, payload: u64): usize {
  const isNone = isNoList(tag, payload);
  store<u8>(out, isNone ? <u8>Tag.NULL : tag);
  const to = out + 1;
  if (tag <= Tag.NULL || isNone) return to;
  if (tag == Tag.BOOL) {
    store<u8>(to, <u8>payload);
    return to + 1;
  }
  const len = <u32>(payload >> 32);
  if (tag == Tag.STR || tag == Tag.BYTES || tag == Tag.ERROR) return putText(to, <usize>(<u32>payload), len);
  if (tag < Tag.ARRAY) {
    store<u64>(to, payload);
    return to + 8;
  }
  store<u32>(to, len);
  let p = to + 4;
  let at = <usize>(<u32>payload);
  for (let n = len; n > 0; n--) {
    if (tag == Tag.ARRAY) {
      p = rowsWrite(p, load<u8>(at, SLOT_TAG), load<u64>(at));
      at += SLOT_SIZE;
    } else {
      p = putText(p, <usize>load<u32>(at, MEMBER_KEY_OFF), load<u32>(at, MEMBER_KEY_LEN));
      p = rowsWrite(p, load<u8>(at, MEMBER_TAG), load<u64>(at));
      at += MEMBER_SIZE;
    }
  }
  return p;
}

// @ts-ignore: decorator
@inline function putText(out: usize, off: usize, len: u32): usize {
  store<u32>(out, len);
  memory.copy(out + 4, off, len);
  return out + 4 + len;
}

/** Position after the value at `p`, of which nothing is kept; 0 when the bytes are not of this form. */
export function rowsSkip(p: usize, end: usize, depth: i32): usize {
  if (p >= end) return 0;
  const tag = load<u8>(p);
  const at = p + 1;
  const left = end - at;
  if (tag <= Tag.NULL) return at;
  if (tag == Tag.BOOL) return left < 1 ? 0 : at + 1;
  if (tag == Tag.I64 || tag == Tag.F64 || tag == Tag.TIME) return left < 8 ? 0 : at + 8;
  if (tag > Tag.ERROR || left < 4) return 0;
  const len = load<u32>(at);
  if (<usize>len > left - 4) return 0;
  let q = at + 4;
  if (tag != Tag.ARRAY && tag != Tag.OBJECT) return q + len;
  if (depth <= 0) return 0;
  for (let n = len; n > 0; n--) {
    if (tag == Tag.OBJECT) {
      if (end - q < 4 || <usize>load<u32>(q) > end - q - 4) return 0;
      q += 4 + <usize>load<u32>(q);
    }
    q = rowsSkip(q, end, depth - 1);
    if (!q) return 0;
  }
  return q;
}

/**
 * Reads the value at `p` into rowsTag and rowsPayload and returns the position after it; 0 when the bytes are not of
 * this form. Texts refer to the input; lists and objects are put into the pool, keys sorted whatever their order was.
 */
export function rowsRead(p: usize, end: usize, pool: Pool, depth: i32): usize {
  const height = stacked;
  const q = read(p, end, pool, depth);
  if (!q) unstack(height);
  return q;
}

function read(p: usize, end: usize, pool: Pool, depth: i32): usize {
  if (p >= end) return 0;
  const tag = load<u8>(p);
  const left = end - p - 1;
  const at = p + 1;
  rowsTag = tag;
  rowsPayload = 0;
  if (tag <= Tag.NULL) return at;
  if (tag == Tag.BOOL) {
    if (left < 1 || load<u8>(at) > 1) return 0;
    rowsPayload = load<u8>(at);
    return at + 1;
  }
  if (tag == Tag.I64 || tag == Tag.F64 || tag == Tag.TIME) {
    if (left < 8) return 0;
    rowsPayload = load<u64>(at);
    return at + 8;
  }
  if (tag > Tag.ERROR || left < 4) return 0;
  const len = load<u32>(at);
  if (<usize>len > left - 4) return 0; // members and elements take at least a byte each
  if (tag != Tag.ARRAY && tag != Tag.OBJECT) {
    if (tag != Tag.BYTES && !isUtf8(at + 4, at + 4 + len)) return 0;
    rowsPayload = span(at + 4, len);
    return at + 4 + len;
  }
  if (depth <= 0) return 0;
  const height = stacked;
  let q = at + 4;
  for (let n = len; n > 0; n--) {
    let key: usize = 0;
    let keyLen: u32 = 0;
    if (tag == Tag.OBJECT) {
      if (end - q < 4) return 0;
      keyLen = load<u32>(q);
      key = q + 4;
      if (<usize>keyLen > end - key || !isUtf8(key, key + keyLen)) return 0;
      q = key + keyLen;
    }
    q = read(q, end, pool, depth - 1);
    if (!q || !push(rowsTag, rowsPayload, key, keyLen)) return 0;
  }
  if (!(tag == Tag.ARRAY ? takeArray(pool, height) : takeObject(pool, height))) return 0;
  rowsTag = tag;
  rowsPayload = taken;
  return q;
}
