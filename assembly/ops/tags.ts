// Tags of whole columns, 16 rows at a time.
import { BATCH_ROWS, COL_HAS_RAW, COL_TAGS, COL_UNIFORM, Tag } from '../mem/layout';

/** Every row among the first `rows` is a double, null or missing. */
export function isFloatOrNull(tags: usize, rows: u32): bool {
  const float = i8x16.splat(Tag.F64);
  const value = i8x16.splat(Tag.BOOL);
  let i: u32 = 0;
  for (; i + 16 <= rows; i += 16) {
    const t = v128.load(tags + i);
    if (!i8x16.all_true(v128.or(i8x16.eq(t, float), i8x16.lt_u(t, value)))) return false;
  }
  for (; i < rows; i++) {
    const t = load<u8>(tags + i);
    if (t != Tag.F64 && t > Tag.NULL) return false;
  }
  return true;
}

/** Sets the booleans at `vals` to false in the rows whose tag is not F64. */
export function falseWhereNull(vals: usize, tags: usize, rows: u32): void {
  const float = i8x16.splat(Tag.F64);
  for (let i: u32 = 0; i < rows; i += 16) {
    const floats = i8x16.eq(v128.load(tags + i), float);
    if (i8x16.all_true(floats)) continue;
    // Spread each byte of the mask over the 8 bytes of its row.
    const bits = <u32>i8x16.bitmask(floats);
    for (let j: u32 = 0; j < 16; j++) {
      const at = vals + ((<usize>(i + j)) << 3);
      store<u64>(at, load<u64>(at) & <u64>((bits >> j) & 1));
    }
  }
}

/**
 * Tags of a result that is a double where both sides are and else null. Steps are 16 for a column, 0 for 16 equal tags.
 */
export function setFloatOrNull(dst: usize, a: usize, aStep: usize, b: usize, bStep: usize): void {
  const float = i8x16.splat(Tag.F64);
  const none = i8x16.splat(Tag.NULL);
  for (let i: usize = 0; i < BATCH_ROWS; i += 16) {
    const both = v128.and(i8x16.eq(v128.load(a), float), i8x16.eq(v128.load(b), float));
    v128.store(dst + i, v128.bitselect(float, none, both), COL_TAGS);
    a += aStep;
    b += bStep;
  }
  store<u8>(dst, Tag.MIXED, COL_UNIFORM);
  store<u8>(dst, 0, COL_HAS_RAW);
}

/** Sixteen tags F64: what a numeric constant looks like to `setFloatOrNull`. */
export const FLOAT_TAGS: usize = memory.data<u8>([4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4], 16);
