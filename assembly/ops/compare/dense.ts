// Comparison of whole columns of doubles or of integers: two rows at a time, no tags, no branches.
import * as ctx from '../../batch/context';
import { COL_VALS, Tag } from '../../mem/layout';
import { constOf, isConst, program, tagsOf, valsOf } from '../operand';
import { dstOf, isDense, setUniform, uniformOf } from '../row-loops';
import { falseWhereNull, isFloatOrNull } from '../tags';
import { Operation } from '../../gen/ops-layouts';

/** Kinds of comparison; `mirror` swaps the sides. */
export namespace Kind {
  export const EQ: u32 = 0;
  export const NE: u32 = 1;
  export const LT: u32 = 2;
  export const LE: u32 = 3;
  export const GT: u32 = 4;
  export const GE: u32 = 5;
}

function mirror(kind: u32): u32 {
  switch (kind) {
    case Kind.LT:
      return Kind.GT;
    case Kind.LE:
      return Kind.GE;
    case Kind.GT:
      return Kind.LT;
    case Kind.GE:
      return Kind.LE;
    default:
      return kind;
  }
}

// @ts-ignore: decorator
@inline function testF64x2(kind: u32, x: v128, y: v128): v128 {
  switch (kind) {
    case Kind.EQ:
      return f64x2.eq(x, y);
    case Kind.NE:
      return f64x2.ne(x, y);
    case Kind.LT:
      return f64x2.lt(x, y);
    case Kind.LE:
      return f64x2.le(x, y);
    case Kind.GT:
      return f64x2.gt(x, y);
    default:
      return f64x2.ge(x, y);
  }
}

// @ts-ignore: decorator
@inline function testI64x2(kind: u32, x: v128, y: v128): v128 {
  switch (kind) {
    case Kind.EQ:
      return i64x2.eq(x, y);
    case Kind.NE:
      return i64x2.ne(x, y);
    case Kind.LT:
      return i64x2.lt_s(x, y);
    case Kind.LE:
      return i64x2.le_s(x, y);
    case Kind.GT:
      return i64x2.gt_s(x, y);
    default:
      return i64x2.ge_s(x, y);
  }
}

// @ts-ignore: decorator
@inline function loopF64(kind: u32, dst: usize, a: usize, b: usize, fixed: bool, k: f64, n: usize): void {
  const one = i64x2.splat(1);
  const y = f64x2.splat(k);
  for (let i: usize = 0; i < n; i += 32) {
    const b0 = fixed ? y : v128.load(b + i);
    const b1 = fixed ? y : v128.load(b + i, 16);
    v128.store(dst + i, v128.and(testF64x2(kind, v128.load(a + i), b0), one));
    v128.store(dst + i, v128.and(testF64x2(kind, v128.load(a + i, 16), b1), one), 16);
  }
}

// @ts-ignore: decorator
@inline function loopI64(kind: u32, dst: usize, a: usize, b: usize, fixed: bool, k: i64, n: usize): void {
  const one = i64x2.splat(1);
  const y = i64x2.splat(k);
  for (let i: usize = 0; i < n; i += 16) {
    v128.store(dst + i, v128.and(testI64x2(kind, v128.load(a + i), fixed ? y : v128.load(b + i)), one));
  }
}

// The loops once for each kind, so that the test is chosen outside.
function runF64(kind: u32, dst: usize, a: usize, b: usize, k: f64, n: usize): void {
  if (b == 0) {
    switch (kind) {
      case Kind.EQ:
        loopF64(Kind.EQ, dst, a, 0, true, k, n);
        break;
      case Kind.NE:
        loopF64(Kind.NE, dst, a, 0, true, k, n);
        break;
      case Kind.LT:
        loopF64(Kind.LT, dst, a, 0, true, k, n);
        break;
      case Kind.LE:
        loopF64(Kind.LE, dst, a, 0, true, k, n);
        break;
      case Kind.GT:
        loopF64(Kind.GT, dst, a, 0, true, k, n);
        break;
      default:
        loopF64(Kind.GE, dst, a, 0, true, k, n);
    }
    return;
  }
  switch (kind) {
    case Kind.EQ:
      loopF64(Kind.EQ, dst, a, b, false, 0, n);
      break;
    case Kind.NE:
      loopF64(Kind.NE, dst, a, b, false, 0, n);
      break;
    case Kind.LT:
      loopF64(Kind.LT, dst, a, b, false, 0, n);
      break;
    case Kind.LE:
      loopF64(Kind.LE, dst, a, b, false, 0, n);
      break;
    case Kind.GT:
      loopF64(Kind.GT, dst, a, b, false, 0, n);
      break;
    default:
      loopF64(Kind.GE, dst, a, b, false, 0, n);
  }
}

function runI64(kind: u32, dst: usize, a: usize, b: usize, k: i64, n: usize): void {
  if (b == 0) {
    switch (kind) {
      case Kind.EQ:
        loopI64(Kind.EQ, dst, a, 0, true, k, n);
        break;
      case Kind.NE:
        loopI64(Kind.NE, dst, a, 0, true, k, n);
        break;
      case Kind.LT:
        loopI64(Kind.LT, dst, a, 0, true, k, n);
        break;
      case Kind.LE:
        loopI64(Kind.LE, dst, a, 0, true, k, n);
        break;
      case Kind.GT:
        loopI64(Kind.GT, dst, a, 0, true, k, n);
        break;
      default:
        loopI64(Kind.GE, dst, a, 0, true, k, n);
    }
    return;
  }
  switch (kind) {
    case Kind.EQ:
      loopI64(Kind.EQ, dst, a, b, false, 0, n);
      break;
    case Kind.NE:
      loopI64(Kind.NE, dst, a, b, false, 0, n);
      break;
    case Kind.LT:
      loopI64(Kind.LT, dst, a, b, false, 0, n);
      break;
    case Kind.LE:
      loopI64(Kind.LE, dst, a, b, false, 0, n);
      break;
    case Kind.GT:
      loopI64(Kind.GT, dst, a, b, false, 0, n);
      break;
    default:
      loopI64(Kind.GE, dst, a, b, false, 0, n);
  }
}

/** Value of a numeric constant as a double. */
// @ts-ignore: decorator
@inline function constF64(operand: u32): f64 {
  const slot = constOf(program, operand);
  return load<u8>(slot, 8) == Tag.I64 ? <f64>load<i64>(slot) : load<f64>(slot);
}

/** Doubles with nulls among them: comparing with null is false. */
function compareNullable(kind: u32, dst: usize, a: u32, b: u32, n: usize): bool {
  const tagsA = tagsOf(program, a);
  if (isConst(b)) {
    const tagB = uniformOf(b);
    if ((tagB != Tag.F64 && tagB != Tag.I64) || !isFloatOrNull(tagsA, ctx.rows)) return false;
    runF64(kind, dst + COL_VALS, valsOf(program, a), 0, constF64(b), n);
  } else {
    const tagsB = tagsOf(program, b);
    if (!isFloatOrNull(tagsA, ctx.rows) || !isFloatOrNull(tagsB, ctx.rows)) return false;
    runF64(kind, dst + COL_VALS, valsOf(program, a), valsOf(program, b), 0, n);
    falseWhereNull(dst + COL_VALS, tagsB, ctx.rows);
  }
  falseWhereNull(dst + COL_VALS, tagsA, ctx.rows);
  setUniform(dst, Tag.BOOL);
  return true;
}

/** Compares the columns as a whole when their tags allow; false when the op must go row by row. */
export function compareDense(op: Operation, kind: u32, a: u32, b: u32): bool {
  if (!isDense()) return false;
  if (isConst(a)) {
    const t = a;
    a = b;
    b = t;
    kind = mirror(kind);
    if (isConst(a)) return false;
  }
  const tagA = uniformOf(a);
  const tagB = uniformOf(b);
  const n = (<usize>((ctx.rows + 3) & ~3)) << 3;
  const dst = dstOf(op);
  if (tagA == Tag.F64) {
    if (isConst(b)) {
      if (tagB != Tag.F64 && tagB != Tag.I64) return false;
      runF64(kind, dst + COL_VALS, valsOf(program, a), 0, constF64(b), n);
    } else {
      if (tagB != Tag.F64) return tagB == Tag.MIXED && compareNullable(kind, dst, a, b, n);
      runF64(kind, dst + COL_VALS, valsOf(program, a), valsOf(program, b), 0, n);
    }
  } else if (tagA == Tag.I64 && tagB == Tag.I64) {
    if (isConst(b)) runI64(kind, dst + COL_VALS, valsOf(program, a), 0, load<i64>(constOf(program, b)), n);
    else runI64(kind, dst + COL_VALS, valsOf(program, a), valsOf(program, b), 0, n);
  } else {
    return tagA == Tag.MIXED && compareNullable(kind, dst, a, b, n);
  }
  setUniform(dst, Tag.BOOL);
  return true;
}
