// Keys of rows as bytes that are equal where `=` takes the values for equal: numbers of both kinds as doubles, values
// of different kinds never. Null, lists and objects equal nothing.
//
// A key of one text is that text; any other value is its kind and 8 bytes, a text its kind, length and bytes. What is
// not a text by itself begins with a byte that no text has.
import { Bind, bindTag, bindVal, BIND_SIZE } from '../../mem/bind';
import { Tag, lenOf, offOf } from '../../mem/layout';
import { timeInstant } from '../../text/time';
import { failLen, failNoMemory, failOff } from '../../batch/failure';
import { textAt, textBegin, textBytes, textFails, textGrow, textLen, textRoom } from '../../value/text';
import { span } from '../../mem/layout';

export namespace KeyOutcome {
  /** The key equals no other. */
  export const NONE: u32 = 0;
  export const KEY: u32 = 1;
  /** A value of the key is an error, which is in `keyError`. */
  export const FAILED: u32 = 2;
}

/** Address of the key that was made last, with 16 readable bytes behind it. */
export let keyOff: usize = 0;
export let keyLen: u32 = 0;
/** Payload of the error of the key that failed. */
export let keyError: u64 = 0;

/** In front of keys that are no single text: no byte of UTF-8. */
const NO_TEXT: u8 = 0xff;
const NUMBER: usize = memory.data(32, 16);

/** Makes the key of a row of the values at `binds` (mem/bind.ts), which must be one at least. */
export function makeKey(binds: usize, keys: u32, row: u32): u32 {
  return keys == 1
    ? single(bindTag(changetype<Bind>(binds), row), bindVal(changetype<Bind>(binds), row))
    : several(binds, keys, row);
}

// @ts-ignore: decorator
@inline function single(tag: u8, payload: u64): u32 {
  if (tag == Tag.STR) {
    keyOff = offOf(payload);
    keyLen = lenOf(payload);
    return KeyOutcome.KEY;
  }
  if (tag == Tag.BYTES) {
    textBegin();
    const to = textRoom(2);
    if (to) {
      store<u8>(to, NO_TEXT);
      store<u8>(to, Tag.BYTES, 1);
      textGrow(2);
      textBytes(offOf(payload), lenOf(payload));
    }
    return finish();
  }
  if (!isWord(tag)) return otherwise(tag, payload);
  store<u8>(NUMBER, NO_TEXT);
  store<u8>(NUMBER, kindOf(tag), 1);
  store<u64>(NUMBER, wordOf(tag, payload), 2);
  keyOff = NUMBER;
  keyLen = 10;
  return KeyOutcome.KEY;
}

function several(binds: usize, keys: u32, row: u32): u32 {
  textBegin();
  let outcome = KeyOutcome.KEY;
  for (let k: u32 = 0; k < keys; k++, binds += BIND_SIZE) {
    const tag = bindTag(changetype<Bind>(binds), row);
    const payload = bindVal(changetype<Bind>(binds), row);
    if (tag == Tag.STR || tag == Tag.BYTES) {
      const to = textRoom(5);
      if (!to) break;
      store<u8>(to, tag);
      store<u32>(to, lenOf(payload), 1);
      textGrow(5);
      textBytes(offOf(payload), lenOf(payload));
    } else if (isWord(tag)) {
      const to = textRoom(9);
      if (!to) break;
      store<u8>(to, kindOf(tag));
      store<u64>(to, wordOf(tag, payload), 1);
      textGrow(9);
    } else {
      // An error behind a null is one nevertheless.
      outcome = otherwise(tag, payload);
      if (outcome == KeyOutcome.FAILED) return outcome;
      for (k++; k < keys; k++) {
        binds += BIND_SIZE;
        if (bindTag(changetype<Bind>(binds), row) == Tag.ERROR)
          return otherwise(Tag.ERROR, bindVal(changetype<Bind>(binds), row));
      }
      return outcome;
    }
  }
  return finish();
}

function finish(): u32 {
  textRoom(16);
  if (textFails) {
    failNoMemory();
    keyError = span(failOff, failLen);
    return KeyOutcome.FAILED;
  }
  keyOff = textAt();
  keyLen = textLen;
  return KeyOutcome.KEY;
}

function otherwise(tag: u8, payload: u64): u32 {
  if (tag != Tag.ERROR) return KeyOutcome.NONE;
  keyError = payload;
  return KeyOutcome.FAILED;
}

// @ts-ignore: decorator
@inline function isWord(tag: u8): bool {
  return tag == Tag.I64 || tag == Tag.F64 || tag == Tag.BOOL || tag == Tag.TIME;
}

// @ts-ignore: decorator
@inline function kindOf(tag: u8): u8 {
  return tag == Tag.I64 ? <u8>Tag.F64 : tag;
}

// @ts-ignore: decorator
@inline function wordOf(tag: u8, payload: u64): u64 {
  if (tag == Tag.I64) return reinterpret<u64>(<f64>(<i64>payload));
  // Adding 0 makes -0 to 0.
  if (tag == Tag.F64) return reinterpret<u64>(reinterpret<f64>(payload) + 0.0);
  return tag == Tag.TIME ? <u64>timeInstant(<i64>payload) : payload;
}
