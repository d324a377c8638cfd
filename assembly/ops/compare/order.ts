// = != < <= > >=
import * as ctx from '../../batch/context';
import { COL_VALS, Tag, isNull, lenOf, offOf } from '../../mem/layout';
import { bytesEqual } from '../../value/bytes';
import { Cmp, compareValues } from '../../value/compare';
import { operandError } from '../../value/error';
import { constOf, isConst, program, valsOf } from '../operand';
import { dstOf, give, giveBool, map2, setUniform, uniformOf } from '../row-loops';
import { Kind, compareDense } from './dense';
import { Operation } from '../../gen/ops-layouts';

const LANES: v128 = i8x16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);

/** Bit set of the outcomes that make each kind true: 1 less, 2 equal, 4 greater, 8 unordered. */
// @ts-ignore: decorator
@inline function truthOf(kind: u32): u32 {
  switch (kind) {
    case Kind.EQ:
      return 2;
    case Kind.NE:
      return 1 | 4 | 8;
    case Kind.LT:
      return 1;
    case Kind.LE:
      return 1 | 2;
    case Kind.GT:
      return 4;
    default:
      return 2 | 4;
  }
}

function symbol(kind: u32): string {
  switch (kind) {
    case Kind.EQ:
      return '=';
    case Kind.NE:
      return '!=';
    case Kind.LT:
      return '<';
    case Kind.LE:
      return '<=';
    case Kind.GT:
      return '>';
    default:
      return '>=';
  }
}

/** Gives the outcome of one comparison: null on a side is false, different kinds are an error. */
function giveComparison(kind: u32, tagA: u8, a: u64, tagB: u8, b: u64): void {
  if (isNull(tagA) || (isNull(tagB) && tagA < Tag.ARRAY)) {
    giveBool(false);
    return;
  }
  // Booleans have no order, only equality.
  const order = tagA == Tag.BOOL && kind > Kind.NE ? Cmp.MISMATCH : compareValues(tagA, a, tagB, b);
  if (order == Cmp.MISMATCH) give(Tag.ERROR, operandError(tagA, a, symbol(kind), tagB, b));
  else giveBool((truthOf(kind) & (1 << (order + 1))) != 0);
}

/** Equality of a column of strings with a string: lengths first, then 16 bytes at a time. */
function equalString(op: Operation, a: u32, b: u32, wanted: bool): bool {
  if (isConst(a)) {
    const t = a;
    a = b;
    b = t;
  }
  if (!isConst(b) || isConst(a) || uniformOf(a) != Tag.STR || uniformOf(b) != Tag.STR) return false;
  const dst = dstOf(op);
  const to = dst + COL_VALS;
  const vals = valsOf(program, a);
  const text = load<u64>(constOf(program, b));
  const len = lenOf(text);
  const off = offOf(text);
  const sel = ctx.sel;
  const n = ctx.selLen;
  if (len <= 16) {
    // Values and constants are followed by 16 readable bytes (mem/pool.ts): no branch on what the rows hold.
    const mask = i8x16.lt_u(LANES, i8x16.splat(<u8>len));
    const core = v128.and(v128.load(off), mask);
    for (let k: u32 = 0; k < n; k++) {
      const at = (<usize>load<u32>(sel + (k << 2))) << 3;
      const val = load<u64>(vals + at);
      const differs = v128.any_true(v128.xor(v128.and(v128.load(offOf(val)), mask), core));
      store<u64>(to + at, <u64>((<u32>(lenOf(val) == len) & <u32>!differs) == <u32>wanted));
    }
    setUniform(dst, Tag.BOOL);
    return true;
  }
  for (let k: u32 = 0; k < n; k++) {
    const at = (<usize>load<u32>(sel + (k << 2))) << 3;
    const val = load<u64>(vals + at);
    store<u64>(to + at, <u64>((lenOf(val) == len && bytesEqual(offOf(val), off, len)) == wanted));
  }
  setUniform(dst, Tag.BOOL);
  return true;
}

// Columns with a null here and there: most rows hold two doubles, the rest takes the general way.
// @ts-ignore: decorator
@inline function giveFast(kind: u32, tagA: u8, a: u64, tagB: u8, b: u64): void {
  if (tagA == Tag.F64 && tagB == Tag.F64) {
    const x = reinterpret<f64>(a);
    const y = reinterpret<f64>(b);
    switch (kind) {
      case Kind.EQ:
        giveBool(x == y);
        return;
      case Kind.NE:
        giveBool(x != y);
        return;
      case Kind.LT:
        giveBool(x < y);
        return;
      case Kind.LE:
        giveBool(x <= y);
        return;
      case Kind.GT:
        giveBool(x > y);
        return;
      default:
        giveBool(x >= y);
        return;
    }
  }
  giveComparison(kind, tagA, a, tagB, b);
}

export function compareEq(op: Operation): void {
  const a = op.a;
  const b = op.b;
  if (compareDense(op, Kind.EQ, a, b) || equalString(op, a, b, true)) return;
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => giveFast(Kind.EQ, tagA, a, tagB, b));
}

export function compareNe(op: Operation): void {
  const a = op.a;
  const b = op.b;
  if (compareDense(op, Kind.NE, a, b) || equalString(op, a, b, false)) return;
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => giveFast(Kind.NE, tagA, a, tagB, b));
}

export function compareLt(op: Operation): void {
  if (compareDense(op, Kind.LT, op.a, op.b)) return;
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => giveFast(Kind.LT, tagA, a, tagB, b));
}

export function compareLe(op: Operation): void {
  if (compareDense(op, Kind.LE, op.a, op.b)) return;
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => giveFast(Kind.LE, tagA, a, tagB, b));
}

export function compareGt(op: Operation): void {
  if (compareDense(op, Kind.GT, op.a, op.b)) return;
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => giveFast(Kind.GT, tagA, a, tagB, b));
}

export function compareGe(op: Operation): void {
  if (compareDense(op, Kind.GE, op.a, op.b)) return;
  map2(op, (tagA: u8, a: u64, tagB: u8, b: u64): void => giveFast(Kind.GE, tagA, a, tagB, b));
}
