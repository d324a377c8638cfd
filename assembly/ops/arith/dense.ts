// Arithmetic on whole columns of doubles or of integers, two rows at a time.
import * as ctx from '../../batch/context';
import { COL_VALS, Tag } from '../../mem/layout';
import { constOf, isConst, program, tagsOf, valsOf } from '../operand';
import { dstOf, isDense, setUniform, uniformOf } from '../row-loops';
import { FLOAT_TAGS, isFloatOrNull, setFloatOrNull } from '../tags';
import { Operation } from '../../gen/ops-layouts';

export namespace Kind {
  export const ADD: u32 = 0;
  export const SUB: u32 = 1;
  export const MUL: u32 = 2;
  export const DIV: u32 = 3;
}

// @ts-ignore: decorator
@inline function f64Pair(kind: u32, x: v128, y: v128): v128 {
  switch (kind) {
    case Kind.ADD:
      return f64x2.add(x, y);
    case Kind.SUB:
      return f64x2.sub(x, y);
    case Kind.MUL:
      return f64x2.mul(x, y);
    default:
      return f64x2.div(x, y);
  }
}

// @ts-ignore: decorator
@inline function i64Pair(kind: u32, x: v128, y: v128): v128 {
  switch (kind) {
    case Kind.ADD:
      return i64x2.add(x, y);
    case Kind.SUB:
      return i64x2.sub(x, y);
    default:
      return i64x2.mul(x, y);
  }
}

// A constant stands twice in `pair`, and its address does not advance.
const pairA: usize = memory.data(16, 16);
const pairB: usize = memory.data(16, 16);

/** Returns false when a divisor was zero. */
// @ts-ignore: decorator
@inline function loopF64(kind: u32, dst: usize, a: usize, aStep: usize, b: usize, bStep: usize, n: usize): bool {
  let zeros = i64x2.splat(0);
  for (let i: usize = 0; i < n; i += 16) {
    const y = v128.load(b);
    if (kind == Kind.DIV) zeros = v128.or(zeros, f64x2.eq(y, f64x2.splat(0)));
    v128.store(dst + i, f64Pair(kind, v128.load(a), y));
    a += aStep;
    b += bStep;
  }
  return kind != Kind.DIV || !v128.any_true(zeros);
}

// @ts-ignore: decorator
@inline function loopI64(kind: u32, dst: usize, a: usize, aStep: usize, b: usize, bStep: usize, n: usize): void {
  for (let i: usize = 0; i < n; i += 16) {
    v128.store(dst + i, i64Pair(kind, v128.load(a), v128.load(b)));
    a += aStep;
    b += bStep;
  }
}

/** Address of the operand's values as doubles (or integers, when `asInt`); a constant is spread over `pair`. */
// @ts-ignore: decorator
@inline function source(operand: u32, pair: usize, asInt: bool): usize {
  if (!isConst(operand)) return valsOf(program, operand);
  const slot = constOf(program, operand);
  let bits = load<u64>(slot);
  if (!asInt && load<u8>(slot, 8) == Tag.I64) bits = reinterpret<u64>(<f64>(<i64>bits));
  store<u64>(pair, bits);
  store<u64>(pair, bits, 8);
  return pair;
}

/** Computes the columns as a whole when their tags allow; false when the op must go row by row. */
// @ts-ignore: decorator
@inline export function arithDense(op: Operation, kind: u32): bool {
  if (!isDense()) return false;
  const a = op.a;
  const b = op.b;
  const isConstA = isConst(a);
  const isConstB = isConst(b);
  if (isConstA && isConstB) return false;
  const tagA = uniformOf(a);
  const tagB = uniformOf(b);
  const n = (<usize>((ctx.rows + 1) & ~1)) << 3;
  const dst = dstOf(op);
  const aStep: usize = isConstA ? 0 : 16;
  const bStep: usize = isConstB ? 0 : 16;
  if (kind != Kind.DIV && tagA == Tag.I64 && tagB == Tag.I64) {
    loopI64(kind, dst + COL_VALS, source(a, pairA, true), aStep, source(b, pairB, true), bStep, n);
    setUniform(dst, Tag.I64);
    return true;
  }
  const fitsA = tagA == Tag.F64 || (isConstA && tagA == Tag.I64);
  const fitsB = tagB == Tag.F64 || (isConstB && tagB == Tag.I64);
  if (!fitsA || !fitsB) {
    // Doubles with nulls among them; as a divisor a null looks like zero, so that case goes row by row.
    const isNullableA = fitsA || (tagA == Tag.MIXED && isFloatOrNull(tagsOf(program, a), ctx.rows));
    const isNullableB = fitsB || (kind != Kind.DIV && tagB == Tag.MIXED && isFloatOrNull(tagsOf(program, b), ctx.rows));
    if (!isNullableA || !isNullableB) return false;
    if (!loopF64(kind, dst + COL_VALS, source(a, pairA, false), aStep, source(b, pairB, false), bStep, n)) return false;
    const tagsA = isConstA ? FLOAT_TAGS : tagsOf(program, a);
    const tagsB = isConstB ? FLOAT_TAGS : tagsOf(program, b);
    setFloatOrNull(dst, tagsA, aStep, tagsB, bStep);
    return true;
  }
  if (!loopF64(kind, dst + COL_VALS, source(a, pairA, false), aStep, source(b, pairB, false), bStep, n)) return false;
  setUniform(dst, Tag.F64);
  return true;
}
