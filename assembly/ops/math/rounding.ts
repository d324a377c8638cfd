// Whole numbers and places.
import * as ctx from '../../batch/context';
import { COL_HAS_RAW, COL_RAW, COL_VALS, OPERAND_NONE, Tag, lenOf, offOf, span } from '../../mem/layout';
import { toF64, truncateF64 } from '../../value/number';
import { blockOf, isConst, program, valsOf } from '../operand';
import { dense1, float1, giveNoNumber, giveRefusal, isAbsent, isNumeric } from '../numeric';
import { dstOf, giveF64, giveI64, giveNull, isDense, map1, map2, setUniform, uniformOf } from '../row-loops';
import { Operation } from '../../gen/ops-layouts';

export function mathCeil(op: Operation): void {
  float1(op, (x: f64): f64 => ceil(x));
}

export function mathFloor(op: Operation): void {
  float1(op, (x: f64): f64 => floor(x));
}

/** Half away from zero. */
function roundHalf(x: f64): f64 {
  const cut = trunc(x);
  return abs(x - cut) >= 0.5 ? cut + copysign(1, x) : cut;
}

let isCut: bool = false;

/** `x` with `places` digits behind the point; a scale out of range leaves it as it is. */
function toPlaces(x: f64, places: f64): f64 {
  const factor = Math.pow(10, trunc(places));
  const scaled = x * factor;
  if (!isFinite(scaled) || !isFinite(factor)) return x;
  if (factor == 0) return 0;
  return (isCut ? trunc(scaled) : roundHalf(scaled)) / factor;
}

// Where to cut must be an integer by its kind, where to round any number.
function places2(tagA: u8, a: u64, tagB: u8, b: u64): void {
  const isPlaces = isCut ? tagB == Tag.I64 : isNumeric(tagB);
  if (isNumeric(tagA) && isPlaces) giveF64(toPlaces(toF64(tagA, a), toF64(tagB, b)));
  else if (isAbsent(tagA, a) || isAbsent(tagB, b)) giveNull();
  else if (isNumeric(tagA)) giveRefusal(tagB, b, 'int');
  else giveRefusal(tagA, a, 'float64');
}

export function mathRound(op: Operation): void {
  if (op.b == OPERAND_NONE) {
    float1(op, roundHalf);
    return;
  }
  isCut = false;
  map2(op, places2);
}

export function mathTrunc(op: Operation): void {
  if (op.b == OPERAND_NONE) {
    float1(op, (x: f64): f64 => trunc(x));
    return;
  }
  isCut = true;
  map2(op, places2);
}

/** The source texts of the numbers stay, without their signs. */
function keepTexts(op: Operation): void {
  const from = blockOf(op.a);
  if (!load<u8>(from, COL_HAS_RAW)) return;
  const dst = dstOf(op);
  const sel = ctx.sel;
  const n = ctx.selLen;
  for (let k: u32 = 0; k < n; k++) {
    const at = (<usize>load<u32>(sel + (k << 2))) << 3;
    const text = load<u64>(from + at, COL_RAW);
    const len = lenOf(text);
    const sign = <u32>(len != 0) & <u32>(load<u8>(offOf(text)) == 0x2d);
    store<u64>(dst + at, span(offOf(text) + sign, len - sign), COL_RAW);
  }
  store<u8>(dst, 1, COL_HAS_RAW);
}

export function mathAbs(op: Operation): void {
  if (dense1(op, (x: f64): f64 => abs(x))) {
    keepTexts(op);
    return;
  }
  map1(op, (tag: u8, val: u64): void => {
    if (tag == Tag.F64) giveF64(abs(reinterpret<f64>(val)));
    else if (tag == Tag.I64) giveI64(<i64>val < 0 ? 0 - <i64>val : <i64>val);
    else giveNoNumber(tag, val);
  });
}

/** Signs of a column of doubles without nulls; false when it is not one. */
function denseSign(op: Operation): bool {
  const a = op.a;
  if (isConst(a) || uniformOf(a) != Tag.F64 || !isDense()) return false;
  const dst = dstOf(op);
  const from = valsOf(program, a);
  const n = ctx.rows;
  for (let i: u32 = 0; i < n; i++) {
    const x = load<f64>(from + ((<usize>i) << 3));
    store<i64>(dst + ((<usize>i) << 3), <i64>(x > 0) - <i64>(x < 0), COL_VALS);
  }
  setUniform(dst, Tag.I64);
  return true;
}

export function mathSign(op: Operation): void {
  if (denseSign(op)) return;
  map1(op, (tag: u8, val: u64): void => {
    if (isNumeric(tag)) {
      const x = toF64(tag, val);
      giveI64(<i64>(x > 0) - <i64>(x < 0));
    } else {
      giveNoNumber(tag, val);
    }
  });
}

export function mathPi(op: Operation): void {
  map1(op, (_tag: u8, _val: u64): void => giveF64(Math.PI));
}

// ---- bits ----------------------------------------------------------------------------------------------------

let whole: i64 = 0;

/** Reads a whole number into `whole`; false (and null or an error given) for anything else. */
function readWhole(tag: u8, val: u64): bool {
  if (tag == Tag.I64) {
    whole = <i64>val;
    return true;
  }
  if (tag == Tag.F64) {
    // The smallest integer is the mark of a value that does not fit, but is a value itself, too.
    whole = truncateF64(reinterpret<f64>(val));
    if (<f64>whole == reinterpret<f64>(val)) return true;
  }
  if (isAbsent(tag, val)) giveNull();
  else giveRefusal(tag, val, 'int');
  return false;
}

// Null wins over an operand of the wrong kind on the other side.
function bits(tagA: u8, a: u64, tagB: u8, b: u64, kind: u32): void {
  if (isAbsent(tagB, b)) {
    giveNull();
    return;
  }
  if (!readWhole(tagA, a)) return;
  const x = whole;
  if (!readWhole(tagB, b)) return;
  giveI64(kind == 0 ? x & whole : kind == 1 ? x | whole : x ^ whole);
}

export function mathBitAnd(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (tagA == Tag.I64 && tagB == Tag.I64) giveI64(<i64>(a & b));
    else bits(tagA, a, tagB, b, 0);
  });
}

export function mathBitOr(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (tagA == Tag.I64 && tagB == Tag.I64) giveI64(<i64>(a | b));
    else bits(tagA, a, tagB, b, 1);
  });
}

export function mathBitXor(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (tagA == Tag.I64 && tagB == Tag.I64) giveI64(<i64>(a ^ b));
    else bits(tagA, a, tagB, b, 2);
  });
}

export function mathBitNot(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    if (readWhole(tag, val)) giveI64(~whole);
  });
}
