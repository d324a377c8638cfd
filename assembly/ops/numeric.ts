// Drivers of functions of numbers. Null and empty collections give null, other values that are no number an error.
import * as ctx from '../batch/context';
import { COL_VALS, Tag, isNull, lenOf } from '../mem/layout';
import { putKind } from '../value/error';
import { toF64 } from '../value/number';
import { textBegin, textLiteral, textTake } from '../value/text';
import { isConst, program, valsOf } from './operand';
import { dstOf, give, giveF64, giveNull, isDense, map1, map2, setUniform, uniformOf } from './row-loops';
import { Operation } from '../gen/ops-layouts';

/** Null, or a collection without elements. */
// @ts-ignore: decorator
@inline export function isAbsent(tag: u8, val: u64): bool {
  return isNull(tag) || ((tag == Tag.ARRAY || tag == Tag.OBJECT) && lenOf(val) == 0);
}

/** As `isAbsent` for a value that has to be of that kind: an empty one of the kind is not absent. */
// @ts-ignore: decorator
@inline export function isAbsentAs(kind: u8, tag: u8, val: u64): bool {
  return tag != kind && isAbsent(tag, val);
}

/** Gives the error of a value that is not of the type needed. */
export function giveRefusal(tag: u8, val: u64, type: string): void {
  textBegin();
  textLiteral('cannot convert ');
  putKind(tag, val);
  textLiteral(' to ');
  textLiteral(type);
  give(Tag.ERROR, textTake());
}

// @ts-ignore: decorator
@inline export function isNumeric(tag: u8): bool {
  return <u32>tag - Tag.I64 <= 1;
}

/** Gives the result for a value that is no number: null when it is absent, else an error. */
export function giveNoNumber(tag: u8, val: u64): void {
  if (isAbsent(tag, val)) giveNull();
  else giveRefusal(tag, val, 'float64');
}

/** As `giveNoNumber` for two values of which one is no number; null wins, then the error of the first. */
export function giveNoNumbers(tagA: u8, a: u64, tagB: u8, b: u64): void {
  if (isAbsent(tagB, b)) giveNull();
  else if (isNumeric(tagA)) giveRefusal(tagB, b, 'float64');
  else giveNoNumber(tagA, a);
}

let f1: (x: f64) => f64 = (x: f64): f64 => x;
let f2: (x: f64, y: f64) => f64 = (x: f64, _y: f64): f64 => x;
let isNanNull: bool = false;

/** dst := f(a) for a column of doubles without nulls; false when it is not one. */
// @ts-ignore: decorator
@inline export function dense1(op: Operation, f: (x: f64) => f64): bool {
  const a = op.a;
  if (isConst(a) || uniformOf(a) != Tag.F64 || !isDense()) return false;
  const dst = dstOf(op);
  const from = valsOf(program, a);
  const n = ctx.rows;
  for (let i: u32 = 0; i < n; i++) {
    const at = (<usize>i) << 3;
    store<f64>(dst + at, f(load<f64>(from + at)), COL_VALS);
  }
  setUniform(dst, Tag.F64);
  return true;
}

/** dst := f(a) as doubles; a result that is not a number stays. */
// @ts-ignore: decorator
@inline export function float1(op: Operation, f: (x: f64) => f64): void {
  if (!dense1(op, f)) sparse1(op, f);
}

function sparse1(op: Operation, f: (x: f64) => f64): void {
  f1 = f;
  isNanNull = false;
  map1(op, row1);
}

/** As `float1`; a result that is not a number is null. */
export function float1OrNull(op: Operation, f: (x: f64) => f64): void {
  f1 = f;
  isNanNull = true;
  map1(op, row1);
}

function row1(tag: u8, val: u64): void {
  if (isNumeric(tag)) {
    const y = f1(toF64(tag, val));
    if (isNanNull && isNaN(y)) giveNull();
    else giveF64(y);
  } else {
    giveNoNumber(tag, val);
  }
}

/** dst := f(a, b) as doubles. */
export function float2(op: Operation, f: (x: f64, y: f64) => f64): void {
  f2 = f;
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (isNumeric(tagA) && isNumeric(tagB)) giveF64(f2(toF64(tagA, a), toF64(tagB, b)));
    else giveNoNumbers(tagA, a, tagB, b);
  });
}
