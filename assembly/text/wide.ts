// 64 x 64 bit multiplication and decimal digit tables shared by the number kernels.

/** High half of the 128-bit product. */
// @ts-ignore: decorator
@inline export function mulHigh(a: u64, b: u64): u64 {
  const al = a & 0xffffffff,
    ah = a >> 32,
    bl = b & 0xffffffff,
    bh = b >> 32;
  const low = al * bl;
  const mid = ah * bl + (low >> 32);
  const mid2 = al * bh + (mid & 0xffffffff);
  return ah * bh + (mid >> 32) + (mid2 >> 32);
}

/** 10^0 … 10^22 as doubles, all exact. */
export const POW10_F64: usize = memory.data<f64>(
  [
    1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
  ],
  16,
);

/** 10^0 … 10^19 as integers. */
export const POW10_U64: usize = memory.data<u64>(
  [
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000, 1000000000000,
    10000000000000, 100000000000000, 1000000000000000, 10000000000000000, 100000000000000000, 1000000000000000000,
    10000000000000000000,
  ],
  16,
);

// @ts-ignore: decorator
@inline export function pow10F64(k: i32): f64 {
  return load<f64>(POW10_F64 + ((<usize>k) << 3));
}
