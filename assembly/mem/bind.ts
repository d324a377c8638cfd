// Places of the values of a column that is read row by row: a column block, a page of rows that wait, or a constant.
//
//   bind    vals u32 | tags u32 | stride u32 | uniform u32      row i's payload at vals + i * stride * 8
//
// The stride of a constant is 0. `uniform`: tag of all rows that are read, or MIXED.
import { COL_TAGS, COL_UNIFORM, COL_VALS } from './layout';

export const BIND_SIZE: u32 = 16;
/** Place of the values of a column. */
// @ts-ignore: decorator
@unmanaged
export class Bind {
  vals: usize;
  tags: usize;
  stride: u32;
  uniform: u32;
}

// @ts-ignore: decorator
@inline export function bindTag(bind: Bind, row: u32): u8 {
  return load<u8>(bind.tags + <usize>(row * bind.stride));
}

// @ts-ignore: decorator
@inline export function bindVal(bind: Bind, row: u32): u64 {
  return load<u64>(bind.vals + ((<usize>(row * bind.stride)) << 3));
}

// @ts-ignore: decorator
@inline export function bindUniform(bind: Bind): u8 {
  return load<u8>(changetype<usize>(bind), 12);
}

// @ts-ignore: decorator
@inline export function bindIsConst(bind: Bind): bool {
  return bind.stride == 0;
}

// @ts-ignore: decorator
@inline export function bindTo(bind: Bind, vals: usize, tags: usize, stride: u32, uniform: u8): void {
  bind.vals = vals;
  bind.tags = tags;
  bind.stride = stride;
  bind.uniform = uniform;
}

/** The column block that was bound. */
// @ts-ignore: decorator
@inline export function blockOfBind(bind: usize): usize {
  return <usize>load<u32>(bind) - COL_VALS;
}

/** Binds a column block. */
export function bindBlock(bind: Bind, block: usize): void {
  bindTo(bind, block + COL_VALS, block + COL_TAGS, 1, load<u8>(block, COL_UNIFORM));
}
