// count(x): rows whose argument is not null; count(*): all rows.
import { Tag } from '../../mem/layout';
import { giveResult } from '../state/result';
import { AggregateSpec } from '../../gen/window-layouts';
import { GroupSet } from '../group/table';

export function countTake(
  set: GroupSet,
  agg: AggregateSpec,
  state: usize,
  tagAt: usize,
  tag: u8,
  payload: u64,
  row: u32,
): void {
  if (tag > Tag.NULL) store<u64>(state, load<u64>(state) + 1);
}

/** Counts a row for each group. */
export function countDoubles(set: GroupSet, at: u32, tagAt: u32, vals: usize, sel: usize, groups: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    const group = <usize>load<u32>(groups + ((<usize>i) << 2));
    if (load<u8>(group + tagAt) != Tag.ERROR) store<u64>(group + at, load<u64>(group + at) + 1);
  }
}

export function countMerge(set: GroupSet, agg: AggregateSpec, to: usize, tagTo: usize, from: usize, tag: u8): void {
  store<u64>(to, load<u64>(to) + load<u64>(from));
}

export function countFinish(agg: AggregateSpec, state: usize, tag: u8): void {
  giveResult(Tag.I64, load<u64>(state));
}

export function countAllTake(
  set: GroupSet,
  agg: AggregateSpec,
  state: usize,
  tagAt: usize,
  tag: u8,
  payload: u64,
  row: u32,
): void {
  store<u64>(state, load<u64>(state) + 1);
}

export function countAllDoubles(
  set: GroupSet,
  at: u32,
  tagAt: u32,
  vals: usize,
  sel: usize,
  groups: usize,
  n: u32,
): void {
  countDoubles(set, at, tagAt, vals, sel, groups, n);
}

export function countAllMerge(set: GroupSet, agg: AggregateSpec, to: usize, tagTo: usize, from: usize, tag: u8): void {
  countMerge(set, agg, to, tagTo, from, tag);
}

export function countAllFinish(agg: AggregateSpec, state: usize, tag: u8): void {
  countFinish(agg, state, tag);
}
