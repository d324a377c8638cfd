// Powers, roots, logarithms, remainders.
import * as ctx from '../../batch/context';
import { COL_VALS, OPERAND_NONE, Tag } from '../../mem/layout';
import { plainError, valueError } from '../../value/error';
import { toF64 } from '../../value/number';
import { constOf, isConst, program, valsOf } from '../operand';
import { float1, float2, giveNoNumber, giveNoNumbers, isNumeric } from '../numeric';
import { dstOf, give, giveF64, map1, map2, setUniform, uniformOf } from '../row-loops';
import { Operation } from '../../gen/ops-layouts';

export function mathPower(op: Operation): void {
  float2(op, (x: f64, y: f64): f64 => Math.pow(x, y));
}

export function mathExp(op: Operation): void {
  float1(op, (x: f64): f64 => Math.exp(x));
}

/** Whole numbers below this are exact. */
const EXACT: f64 = 9007199254740992;

/** Remainder of x / y with the sign of x. Of whole numbers that of integers, which takes a tenth of the time. */
function remainder(x: f64, y: f64): f64 {
  if (abs(x) < EXACT && abs(y) < EXACT) {
    const whole = <i64>x;
    const divisor = <i64>y;
    if (divisor != 0 && <f64>whole == x && <f64>divisor == y) return copysign<f64>(<f64>(whole % divisor), x);
  }
  return x % y;
}

/** Remainders of a column of integers by one constant other than 0; false when it is not that. */
function wholeMod(op: Operation): bool {
  const a = op.a;
  const b = op.b;
  if (isConst(a) || !isConst(b) || uniformOf(a) != Tag.I64 || !isNumeric(uniformOf(b))) return false;
  const slot = constOf(program, b);
  const y = toF64(load<u8>(slot, 8), load<u64>(slot));
  const divisor = <u32>y;
  if (!(y >= 1 && y < 2147483648) || <f64>divisor != y) return false;
  const from = valsOf(program, a);
  const dst = dstOf(op);
  const sel = ctx.sel;
  const n = ctx.selLen;
  for (let k: u32 = 0; k < n; k++) {
    const at = (<usize>load<u32>(sel + (k << 2))) << 3;
    const x = load<i64>(from + at);
    const r = <u64>x < 0x80000000 ? <f64>(<u32>x % divisor) : remainder(<f64>x, y);
    store<f64>(dst + at, r, COL_VALS);
  }
  setUniform(dst, Tag.F64);
  return true;
}

export function mathMod(op: Operation): void {
  if (wholeMod(op)) return;
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (isNumeric(tagA) && isNumeric(tagB)) {
      const y = toF64(tagB, b);
      if (y == 0) give(Tag.ERROR, plainError('divided by zero'));
      else giveF64(remainder(toF64(tagA, a), y));
    } else {
      giveNoNumbers(tagA, a, tagB, b);
    }
  });
}

const NOT_POSITIVE: string = 'The argument must be a strictly positive number but got ';

/** Gives `y`, or the error of the argument when `y` is not a number. */
function giveReal(y: f64, text: string, tag: u8, val: u64): void {
  if (isNaN(y)) give(Tag.ERROR, valueError(text, tag, val));
  else giveF64(y);
}

/** Roots of a column of doubles without nulls; false when it is not one, or a root is not a number. */
function denseSqrt(op: Operation): bool {
  const a = op.a;
  if (isConst(a) || uniformOf(a) != Tag.F64) return false;
  const dst = dstOf(op);
  const from = valsOf(program, a);
  const sel = ctx.sel;
  const n = ctx.selLen;
  let isReal = true;
  for (let k: u32 = 0; k < n; k++) {
    const at = (<usize>load<u32>(sel + (k << 2))) << 3;
    const y = sqrt(load<f64>(from + at));
    isReal = isReal && y == y;
    store<f64>(dst + at, y, COL_VALS);
  }
  if (isReal) setUniform(dst, Tag.F64);
  return isReal;
}

export function mathSqrt(op: Operation): void {
  if (denseSqrt(op)) return;
  map1(op, (tag: u8, val: u64): void => {
    if (isNumeric(tag)) giveReal(sqrt(toF64(tag, val)), 'The argument must be a positive number but got ', tag, val);
    else giveNoNumber(tag, val);
  });
}

export function mathLn(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    if (isNumeric(tag)) giveReal(Math.log(toF64(tag, val)), NOT_POSITIVE, tag, val);
    else giveNoNumber(tag, val);
  });
}

export function mathLog(op: Operation): void {
  if (op.b == OPERAND_NONE) {
    map1(op, (tag: u8, val: u64): void => {
      if (isNumeric(tag)) giveReal(Math.log10(toF64(tag, val)), NOT_POSITIVE, tag, val);
      else giveNoNumber(tag, val);
    });
    return;
  }
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => {
    if (isNumeric(tagA) && isNumeric(tagB)) {
      const base = toF64(tagA, a);
      const x = toF64(tagB, b);
      giveReal(Math.log(x) / Math.log(base), NOT_POSITIVE, base > 0 ? tagB : tagA, base > 0 ? b : a);
    } else {
      giveNoNumbers(tagA, a, tagB, b);
    }
  });
}
