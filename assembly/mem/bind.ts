// Where the values of a column stand that is read row by row: a column block, a page of rows that wait, or a constant.
//
//   bind    vals u32 | tags u32 | stride u32 | uniform u32      row i's payload at vals + i * stride * 8
//
// The stride of a constant is 0. `uniform`: tag of all rows that are read, or MIXED.
import { COL_TAGS, COL_UNIFORM, COL_VALS } from './layout';

export const BIND_SIZE: u32 = 16;
export const BIND_TAGS: usize = 4;
const BIND_STRIDE: usize = 8;

// @ts-ignore: decorator
@inline export function bindTag(bind: usize, row: u32): u8 {
  return load<u8>(<usize>load<u32>(bind, BIND_TAGS) + <usize>(row * load<u32>(bind, BIND_STRIDE)));
}

// @ts-ignore: decorator
@inline export function bindVal(bind: usize, row: u32): u64 {
  return load<u64>(<usize>load<u32>(bind) + ((<usize>(row * load<u32>(bind, BIND_STRIDE))) << 3));
}

// @ts-ignore: decorator
@inline export function bindUniform(bind: usize): u8 {
  return load<u8>(bind, 12);
}

// @ts-ignore: decorator
@inline export function bindIsConst(bind: usize): bool {
  return load<u32>(bind, BIND_STRIDE) == 0;
}

// @ts-ignore: decorator
@inline export function bindTo(bind: usize, vals: usize, tags: usize, stride: u32, uniform: u8): void {
  store<u32>(bind, <u32>vals);
  store<u32>(bind, <u32>tags, BIND_TAGS);
  store<u32>(bind, stride, BIND_STRIDE);
  store<u32>(bind, uniform, 12);
}

/** The column block that was bound. */
// @ts-ignore: decorator
@inline export function blockOfBind(bind: usize): usize {
  return <usize>load<u32>(bind) - COL_VALS;
}

/** Binds a column block. */
export function bindBlock(bind: usize, block: usize): void {
  bindTo(bind, block + COL_VALS, block + COL_TAGS, 1, load<u8>(block, COL_UNIFORM));
}
