// Whole numbers in the digits of other bases.
import { Tag, lenOf, offOf } from '../../mem/layout';
import { valueError } from '../../value/error';
import { textByte, textLiteral } from '../../value/text';
import { isSpace, runeAt, runeLen } from '../../value/unicode';
import { giveRefusal, isAbsent } from '../numeric';
import { giveText, resultBegin } from '../result';
import { give, giveI64, giveNull, map1, map3 } from '../row-loops';
import { count, isCount, readCount, textOf } from '../string/text-of';
import { putHex } from './crc32';
import { Operation } from '../../gen/ops-layouts';

// @ts-ignore: decorator
@inline function digitOf(c: u32): u32 {
  if (c - 0x30 < 10) return c - 0x30;
  const lower = c | 0x20;
  return lower - 0x61 < 26 ? lower - 0x61 + 10 : 99;
}

/** Set by `readDigits`: the value, where it ends, and that it does not fit 64 bits. */
let value: u64 = 0;
let stop: usize = 0;
let isTooLarge: bool = false;

/** Reads digits of the base from `p` as far as there are any. */
function readDigits(p: usize, end: usize, base: u32): void {
  value = 0;
  isTooLarge = false;
  for (stop = p; stop < end; stop++) {
    const d = digitOf(load<u8>(stop));
    if (d >= base) return;
    if (value > (u64.MAX_VALUE - d) / base) isTooLarge = true;
    value = value * base + d;
  }
}

export function convertFromHex(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    if (isAbsent(tag, val)) {
      giveNull();
      return;
    }
    if (tag != Tag.STR) {
      give(Tag.ERROR, valueError('hexadecimal digits are needed, not ', tag, val));
      return;
    }
    let p = offOf(val);
    const end = p + lenOf(val);
    if (lenOf(val) >= 2 && load<u16>(p) == 0x7830) p += 2;
    const isNegative = p < end && load<u8>(p) == 0x2d;
    if (p < end && (isNegative || load<u8>(p) == 0x2b)) p++;
    readDigits(p, end, 16);
    if (p == end || stop != end || isTooLarge || value > <u64>i64.MAX_VALUE + <u64>isNegative) {
      give(Tag.ERROR, valueError('invalid hexadecimal value: ', tag, val));
    } else {
      giveI64(<i64>(isNegative ? 0 - value : value));
    }
  });
}

export function convertToHex(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    if (isAbsent(tag, val)) {
      giveNull();
    } else if (!isCount(tag, val)) {
      giveRefusal(tag, val, 'int');
    } else {
      resultBegin();
      textLiteral(count < 0 ? '0x-' : '0x');
      putHex(<u64>abs(count));
      giveText('dec2hex');
    }
  });
}

// ---- conv ----------------------------------------------------------------------------------------------------

const DIGITS: usize = memory.data(64, 16);

/** Appends the value in digits of the base, letters in upper case. */
function putDigits(v: u64, base: u64): void {
  let at: u32 = 64;
  do {
    const digit = <u32>(v % base);
    store<u8>(DIGITS + --at, <u8>(digit < 10 ? 48 + digit : 55 + digit));
    v /= base;
  } while (v != 0);
  for (; at < 64; at++) textByte(load<u8>(DIGITS + at));
}

export function convertBase(op: Operation): void {
  map3(op, (tagA: u8, a: u64, tagB: u8, b: u64, tagC: u8, c: u64): void => {
    if (!readCount(tagB, b)) return;
    const from = count;
    if (!readCount(tagC, c)) return;
    const to = count;
    if (isAbsent(tagA, a) || abs(from) < 2 || abs(from) > 36 || abs(to) < 2 || abs(to) > 36) giveNull();
    else giveInBase(textOf(tagA, a), from, to);
  });
}

function giveInBase(text: u64, from: i64, to: i64): void {
  let p = offOf(text);
  const end = p + lenOf(text);
  while (p < end && isSpace(runeAt(p, end))) p += runeLen;
  let isNegative = p < end && load<u8>(p) == 0x2d;
  if (p < end && (isNegative || load<u8>(p) == 0x2b)) p++;
  readDigits(p, end, <u32>abs(from));
  if (isTooLarge) {
    give(Tag.ERROR, valueError('the number does not fit 64 bits: ', Tag.STR, text));
    return;
  }
  // A negative base to read in: the number is one of int64, the nearest that there is.
  if (from < 0) value = min(value, <u64>i64.MAX_VALUE + <u64>isNegative);
  if (isNegative) value = 0 - value;
  isNegative = <i64>value < 0;
  resultBegin();
  // A negative base to write in: the sign is written, all other numbers are taken for positive ones.
  if (to < 0 && isNegative) {
    textByte(0x2d);
    value = 0 - value;
  }
  putDigits(value, <u64>abs(to));
  giveText('conv');
}
