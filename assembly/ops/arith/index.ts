// + - * / % & | ^ and the unary minus. Null on a side gives null; two integers give an integer that wraps; a double on
// a side makes doubles of both; anything else is an error.
import { Tag, isNull } from '../../mem/layout';
import { operandError, plainError, valueError } from '../../value/error';
import { give, giveBool, giveF64, giveI64, giveNull, map1, map2 } from '../row-loops';
import { Kind, arithDense } from './dense';
import { Operation } from '../../gen/ops-layouts';

// @ts-ignore: decorator
@inline function toF64(tag: u8, val: u64): f64 {
  return tag == Tag.I64 ? <f64>(<i64>val) : reinterpret<f64>(val);
}

// @ts-ignore: decorator
@inline function isNumeric(tagA: u8, tagB: u8): bool {
  return <u32>tagA - Tag.I64 <= 1 && <u32>tagB - Tag.I64 <= 1;
}

function giveRefusal(name: string, tagA: u8, a: u64, tagB: u8, b: u64): void {
  if (isNull(tagA) || (isNull(tagB) && tagA < Tag.ARRAY)) giveNull();
  else give(Tag.ERROR, operandError(tagA, a, name, tagB, b));
}

function giveZeroDivision(): void {
  give(Tag.ERROR, plainError('divided by zero'));
}

export function arithAdd(op: Operation): void {
  if (arithDense(op, Kind.ADD)) return;
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (!isNumeric(tagA, tagB)) giveRefusal('+', tagA, a, tagB, b);
    else if ((tagA & tagB) == Tag.I64) giveI64(<i64>(a + b));
    else giveF64(toF64(tagA, a) + toF64(tagB, b));
  });
}

export function arithSub(op: Operation): void {
  if (arithDense(op, Kind.SUB)) return;
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (!isNumeric(tagA, tagB)) giveRefusal('-', tagA, a, tagB, b);
    else if ((tagA & tagB) == Tag.I64) giveI64(<i64>(a - b));
    else giveF64(toF64(tagA, a) - toF64(tagB, b));
  });
}

export function arithMul(op: Operation): void {
  if (arithDense(op, Kind.MUL)) return;
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (!isNumeric(tagA, tagB)) giveRefusal('*', tagA, a, tagB, b);
    else if ((tagA & tagB) == Tag.I64) giveI64(<i64>(a * b));
    else giveF64(toF64(tagA, a) * toF64(tagB, b));
  });
}

export function arithDiv(op: Operation): void {
  if (arithDense(op, Kind.DIV)) return;
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (!isNumeric(tagA, tagB)) {
      giveRefusal('/', tagA, a, tagB, b);
    } else if ((tagA & tagB) == Tag.I64) {
      const y = <i64>b;
      if (y == 0) giveZeroDivision();
      // The machine's division traps on the smallest integer by -1, which has to wrap.
      else giveI64(y == -1 ? 0 - <i64>a : <i64>a / y);
    } else {
      const y = toF64(tagB, b);
      if (y == 0) giveZeroDivision();
      else giveF64(toF64(tagA, a) / y);
    }
  });
}

export function arithMod(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (!isNumeric(tagA, tagB)) {
      giveRefusal('%', tagA, a, tagB, b);
    } else if ((tagA & tagB) == Tag.I64) {
      const y = <i64>b;
      if (y == 0) giveZeroDivision();
      else giveI64(y == -1 ? 0 : <i64>a % y);
    } else {
      const y = toF64(tagB, b);
      if (y == 0) giveZeroDivision();
      else giveF64(toF64(tagA, a) % y);
    }
  });
}

export function arithBitAnd(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (tagA == Tag.I64 && tagB == Tag.I64) giveI64(<i64>(a & b));
    else if (tagA == Tag.BOOL && tagB == Tag.BOOL) giveBool((a & b) != 0);
    else giveRefusal('&', tagA, a, tagB, b);
  });
}

export function arithBitOr(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (tagA == Tag.I64 && tagB == Tag.I64) giveI64(<i64>(a | b));
    else if (tagA == Tag.BOOL && tagB == Tag.BOOL) giveBool((a | b) != 0);
    else giveRefusal('|', tagA, a, tagB, b);
  });
}

export function arithBitXor(op: Operation): void {
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (tagA == Tag.I64 && tagB == Tag.I64) giveI64(<i64>(a ^ b));
    else if (tagA == Tag.BOOL && tagB == Tag.BOOL) giveBool(a != b);
    else giveRefusal('^', tagA, a, tagB, b);
  });
}

export function arithNeg(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    if (tag == Tag.I64) giveI64(0 - <i64>val);
    else if (tag == Tag.F64) giveF64(-reinterpret<f64>(val));
    else if (isNull(tag)) giveNull();
    else give(Tag.ERROR, valueError('invalid operation - on ', tag, val));
  });
}
