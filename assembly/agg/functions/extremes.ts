// min(x) and max(x) of numbers, texts or times.
import { Agg } from '../../gen/aggregates';
import { Tag } from '../../mem/layout';
import { giveValue } from '../state/result';
import { takeExtreme } from '../state/take';
import { AggregateSpec } from '../../gen/window-layouts';
import { GroupSet } from '../group/table';

export function minTake(
  set: GroupSet,
  agg: AggregateSpec,
  state: usize,
  tagAt: usize,
  tag: u8,
  payload: u64,
  row: u32,
): void {
  if (tag > Tag.NULL) takeExtreme(set, Agg.MIN, -1, state, tagAt, tag, payload);
}

export function minDoubles(set: GroupSet, at: u32, tagAt: u32, vals: usize, sel: usize, groups: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    const group = <usize>load<u32>(groups + ((<usize>i) << 2));
    const from = vals + ((<usize>load<u32>(sel + ((<usize>i) << 2))) << 3);
    if (load<u8>(group + tagAt) == Tag.F64) {
      const x = load<f64>(from);
      if (x < load<f64>(group + at)) store<f64>(group + at, x);
    } else takeExtreme(set, Agg.MIN, -1, group + at, group + tagAt, Tag.F64, load<u64>(from));
  }
}

export function minMerge(set: GroupSet, agg: AggregateSpec, to: usize, tagTo: usize, from: usize, tag: u8): void {
  if (tag != Tag.MISSING) takeExtreme(set, Agg.MIN, -1, to, tagTo, tag, load<u64>(from));
}

export function minFinish(agg: AggregateSpec, state: usize, tag: u8): void {
  giveValue(tag, load<u64>(state));
}

export function maxTake(
  set: GroupSet,
  agg: AggregateSpec,
  state: usize,
  tagAt: usize,
  tag: u8,
  payload: u64,
  row: u32,
): void {
  if (tag > Tag.NULL) takeExtreme(set, Agg.MAX, 1, state, tagAt, tag, payload);
}

export function maxDoubles(set: GroupSet, at: u32, tagAt: u32, vals: usize, sel: usize, groups: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    const group = <usize>load<u32>(groups + ((<usize>i) << 2));
    const from = vals + ((<usize>load<u32>(sel + ((<usize>i) << 2))) << 3);
    if (load<u8>(group + tagAt) == Tag.F64) {
      const x = load<f64>(from);
      if (x > load<f64>(group + at)) store<f64>(group + at, x);
    } else takeExtreme(set, Agg.MAX, 1, group + at, group + tagAt, Tag.F64, load<u64>(from));
  }
}

export function maxMerge(set: GroupSet, agg: AggregateSpec, to: usize, tagTo: usize, from: usize, tag: u8): void {
  if (tag != Tag.MISSING) takeExtreme(set, Agg.MAX, 1, to, tagTo, tag, load<u64>(from));
}

export function maxFinish(agg: AggregateSpec, state: usize, tag: u8): void {
  giveValue(tag, load<u64>(state));
}
