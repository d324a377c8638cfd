// cast(a, type). Null gives null, and so do empty arrays and objects.
import * as ctx from '../../batch/context';
import { COL_HAS_RAW, COL_RAW, COL_VALS, Tag, isNull, lenOf, offOf } from '../../mem/layout';
import { bytesOf } from '../../text/base64';
import { timeMicros, timeNanos, timeOffset } from '../../text/time';
import { valueError } from '../../value/error';
import { putFloatPlain } from '../../value/float';
import { printValue } from '../../value/print';
import { floatValue, intValue, readFloat, fitsI64, readInteger, toF64 } from '../../value/number';
import { timeOf } from '../../value/time';
import { giveRefusal, isAbsent } from '../numeric';
import { giveText, resultBegin } from '../result';
import { blockOf, isConst } from '../operand';
import { dstOf, give, giveBool, giveF64, giveI64, giveNull, map1, map2, setUniform, uniformOf } from '../row-loops';
import { Operation } from '../../gen/ops-layouts';

const MICROS_PER_MS: i64 = 1000;
const MICROS_PER_SECOND: i64 = 1000000;
/** Years 0000 to 9999, which is all that RFC 3339 can write, in microseconds. */
const FIRST_TIME: i64 = -62167219200000000;
const LAST_TIME: i64 = 253402300799999999;

function giveBigint(tag: u8, val: u64): void {
  if (tag == Tag.I64) give(tag, val);
  else if (tag == Tag.F64 && fitsI64(reinterpret<f64>(val))) giveI64(<i64>reinterpret<f64>(val));
  else if (tag == Tag.BOOL) giveI64(<i64>val);
  else if (tag == Tag.TIME) giveI64(timeMicros(<i64>val) / MICROS_PER_MS);
  else if (isAbsent(tag, val)) giveNull();
  else if (tag == Tag.STR && readInteger(offOf(val), lenOf(val))) giveI64(intValue);
  else giveRefusal(tag, val, 'int');
}

export function castToBigint(op: Operation): void {
  map1(op, giveBigint);
}

function giveFloat(tag: u8, val: u64): void {
  if (tag == Tag.F64) give(tag, val);
  else if (tag == Tag.I64) giveF64(<f64>(<i64>val));
  else if (tag == Tag.BOOL) giveF64(<f64>val);
  else if (tag == Tag.TIME) giveF64(<f64>timeMicros(<i64>val) / 1000 + <f64>timeNanos(<i64>val) / 1000000);
  else if (isAbsent(tag, val)) giveNull();
  else if (tag == Tag.STR && readFloat(offOf(val), lenOf(val))) giveF64(floatValue);
  else giveRefusal(tag, val, 'float64');
}

export function castToFloat(op: Operation): void {
  map1(op, giveFloat);
}

function giveString(tag: u8, val: u64): void {
  if (tag == Tag.STR || tag == Tag.BYTES) {
    give(Tag.STR, val);
    return;
  }
  if (isAbsent(tag, val)) {
    giveNull();
    return;
  }
  resultBegin();
  if (tag == Tag.F64) putFloatPlain(reinterpret<f64>(val));
  else printValue(tag, val);
  giveText('cast');
}

/**
 * Numbers that the encoder prints as a cast does, without exponent: from this on in absolute value, below the other.
 */
const LEAST_PLAIN: f64 = 1e-6;
const MOST_PLAIN: f64 = 1e15;

/**
 * Takes the source texts of a column of doubles; false when it has none, or one that a cast would write in another way.
 */
function takeTexts(op: Operation): bool {
  const a = op.a;
  if (isConst(a) || uniformOf(a) != Tag.F64) return false;
  const from = blockOf(a);
  const dst = dstOf(op);
  if (!load<u8>(from, COL_HAS_RAW) || dst == from) return false;
  const sel = ctx.sel;
  const n = ctx.selLen;
  for (let k: u32 = 0; k < n; k++) {
    const at = (<usize>load<u32>(sel + (k << 2))) << 3;
    const text = load<u64>(from + at, COL_RAW);
    const x = abs(load<f64>(from + at, COL_VALS));
    if (lenOf(text) == 0 || !(x == 0 || (x >= LEAST_PLAIN && x < MOST_PLAIN))) return false;
    store<u64>(dst + at, text, COL_VALS);
  }
  setUniform(dst, Tag.STR);
  return true;
}

export function castToString(op: Operation): void {
  if (takeTexts(op)) return;
  map1(op, giveString);
}

/** 1 or 0 for the texts that stand for a boolean, -1 for others. */
function booleanOf(at: usize, len: u32): i32 {
  if (len == 1) {
    const c = <u32>load<u8>(at);
    if (c == 0x31 || (c | 0x20) == 0x74) return 1;
    return c == 0x30 || (c | 0x20) == 0x66 ? 0 : -1;
  }
  if (len == 4) {
    const word = load<u32>(at);
    // true, TRUE, True
    return word == 0x65757274 || word == 0x45555254 || word == 0x65757254 ? 1 : -1;
  }
  if (len == 5) {
    const word = load<u32>(at);
    const last = load<u8>(at, 4);
    // false, FALSE, False
    if (last == 0x65) return word == 0x736c6166 || word == 0x736c6146 ? 0 : -1;
    return last == 0x45 && word == 0x534c4146 ? 0 : -1;
  }
  return -1;
}

function giveBoolean(tag: u8, val: u64): void {
  if (tag == Tag.BOOL) give(tag, val);
  else if (tag == Tag.I64 || tag == Tag.F64) giveBool(toF64(tag, val) != 0);
  else if (isAbsent(tag, val)) giveNull();
  else {
    const truth = tag == Tag.STR ? booleanOf(offOf(val), lenOf(val)) : -1;
    if (truth < 0) giveRefusal(tag, val, 'bool');
    else giveBool(truth != 0);
  }
}

export function castToBoolean(op: Operation): void {
  map1(op, giveBoolean);
}

function giveDatetime(tag: u8, val: u64): void {
  if (tag == Tag.TIME) give(tag, val);
  else if (isAbsent(tag, val)) giveNull();
  else {
    const time = timeOf(tag, val);
    const micros = time == i64.MIN_VALUE ? time : timeMicros(time) + <i64>timeOffset(time) * MICROS_PER_SECOND;
    if (micros < FIRST_TIME || micros > LAST_TIME) giveRefusal(tag, val, 'datetime');
    else give(Tag.TIME, <u64>time);
  }
}

export function castToDatetime(op: Operation): void {
  map1(op, giveDatetime);
}

function giveBytea(tag: u8, val: u64): void {
  if (tag == Tag.BYTES) give(tag, val);
  else if (tag == Tag.STR) give(Tag.BYTES, bytesOf(offOf(val), lenOf(val), ctx.scratch));
  else if (isAbsent(tag, val)) giveNull();
  else giveRefusal(tag, val, 'bytea');
}

export function castToBytea(op: Operation): void {
  map1(op, giveBytea);
}

/** The text is the literal, which is in ASCII. */
function isType(type: u64, name: string): bool {
  if (lenOf(type) != <u32>name.length) return false;
  for (let i: u32 = 0; i < lenOf(type); i++) {
    if (<u16>load<u8>(offOf(type) + i) != load<u16>(changetype<usize>(name) + ((<usize>i) << 1))) return false;
  }
  return true;
}

export function castToType(op: Operation): void {
  map2(op, (tag: u8, val: u64, typeTag: u8, type: u64): void => {
    if (isAbsent(tag, val) || isNull(typeTag)) giveNull();
    else if (typeTag != Tag.STR) give(Tag.ERROR, valueError('cast needs the name of a type, not ', typeTag, type));
    else if (isType(type, 'bigint')) giveBigint(tag, val);
    else if (isType(type, 'float')) giveFloat(tag, val);
    else if (isType(type, 'string')) giveString(tag, val);
    else if (isType(type, 'boolean')) giveBoolean(tag, val);
    else if (isType(type, 'datetime')) giveDatetime(tag, val);
    else if (isType(type, 'bytea')) giveBytea(tag, val);
    else
      give(
        Tag.ERROR,
        valueError('cast to bigint, float, string, boolean, datetime and bytea only, not to ', typeTag, type),
      );
  });
}
