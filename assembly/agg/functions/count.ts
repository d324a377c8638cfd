// count(x): rows whose argument is not null; count(*): all rows.
import { Tag } from '../../mem/layout';
import { giveResult } from '../state/result';

export function countTake(set: usize, agg: usize, state: usize, tagAt: usize, tag: u8, payload: u64, row: u32): void {
  if (tag > Tag.NULL) store<u64>(state, load<u64>(state) + 1);
}

/** Counts a row for each group. */
export function countDoubles(set: usize, at: u32, tagAt: u32, vals: usize, sel: usize, groups: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    const group = <usize>load<u32>(groups + ((<usize>i) << 2));
    if (load<u8>(group + tagAt) != Tag.ERROR) store<u64>(group + at, load<u64>(group + at) + 1);
  }
}

export function countMerge(set: usize, agg: usize, to: usize, tagTo: usize, from: usize, tag: u8): void {
  store<u64>(to, load<u64>(to) + load<u64>(from));
}

export function countFinish(agg: usize, state: usize, tag: u8): void {
  giveResult(Tag.I64, load<u64>(state));
}

export function countAllTake(
  set: usize,
  agg: usize,
  state: usize,
  tagAt: usize,
  tag: u8,
  payload: u64,
  row: u32,
): void {
  store<u64>(state, load<u64>(state) + 1);
}

export function countAllDoubles(set: usize, at: u32, tagAt: u32, vals: usize, sel: usize, groups: usize, n: u32): void {
  countDoubles(set, at, tagAt, vals, sel, groups, n);
}

export function countAllMerge(set: usize, agg: usize, to: usize, tagTo: usize, from: usize, tag: u8): void {
  countMerge(set, agg, to, tagTo, from, tag);
}

export function countAllFinish(agg: usize, state: usize, tag: u8): void {
  countFinish(agg, state, tag);
}
