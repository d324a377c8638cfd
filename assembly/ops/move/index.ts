// Copies.
import * as ctx from '../../batch/context';
import { COL_HAS_RAW, COL_RAW, COL_TAGS, COL_UNIFORM, COL_VALS } from '../../mem/layout';
import { blockOf, constOf, isConst, program } from '../operand';
import { toF64 } from '../../value/number';
import { giveRefusal, isAbsent, isNumeric } from '../numeric';
import { giveI64, giveNull, map2, setUniform } from '../row-loops';
import { Operation } from '../../gen/ops-layouts';

/** dst := a with its tags as they are; the source text of numbers comes along. */
export function moveMove(op: Operation): void {
  const a = op.a;
  const dst = blockOf(op.dst);
  const rows = ctx.rows;
  if (isConst(a)) {
    const slot = constOf(program, a);
    const val = load<u64>(slot);
    for (let i: u32 = 0; i < rows; i++) store<u64>(dst + ((<usize>i) << 3), val, COL_VALS);
    setUniform(dst, load<u8>(slot, 8));
    return;
  }
  const src = blockOf(a);
  memory.copy(dst + COL_VALS, src + COL_VALS, (<usize>rows) << 3);
  memory.copy(dst + COL_TAGS, src + COL_TAGS, rows);
  const hasRaw = load<u8>(src, COL_HAS_RAW);
  if (hasRaw) memory.copy(dst + COL_RAW, src + COL_RAW, (<usize>rows) << 3);
  store<u8>(dst, load<u8>(src, COL_UNIFORM), COL_UNIFORM);
  store<u8>(dst, hasRaw, COL_HAS_RAW);
}

export function moveRuleStart(op: Operation): void {
  moveMove(op);
}

/** Longest delay, ms: sums with the clock stay whole numbers that a double has, too. */
const MOST_MS: f64 = 4503599627370496;

export function moveDue(op: Operation): void {
  map2(op, (tagA, a, tagB, b) => {
    if (isAbsent(tagA, a) || isAbsent(tagB, b)) giveNull();
    else if (!isNumeric(tagA)) giveRefusal(tagA, a, 'int');
    else {
      const ms = min(toF64(tagA, a), MOST_MS);
      if (ms >= 1) giveI64(<i64>ctx.nowMs + <i64>ms);
      else giveNull();
    }
  });
}
