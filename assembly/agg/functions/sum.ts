// sum(x): of integers an integer.
import { Agg } from '../../gen/aggregates';
import { Tag } from '../../mem/layout';
import { giveValue } from '../state/result';
import { addToSum } from '../state/take';
import { AggregateSpec } from '../../gen/window-layouts';
import { GroupSet } from '../group/table';

export function sumTake(
  set: GroupSet,
  agg: AggregateSpec,
  state: usize,
  tagAt: usize,
  tag: u8,
  payload: u64,
  row: u32,
): void {
  if (tag > Tag.NULL) addToSum(set, Agg.SUM, state, tagAt, tag, payload);
}

export function sumDoubles(set: GroupSet, at: u32, tagAt: u32, vals: usize, sel: usize, groups: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    const group = <usize>load<u32>(groups + ((<usize>i) << 2));
    const from = vals + ((<usize>load<u32>(sel + ((<usize>i) << 2))) << 3);
    if (load<u8>(group + tagAt) == Tag.F64) store<f64>(group + at, load<f64>(group + at) + load<f64>(from));
    else addToSum(set, Agg.SUM, group + at, group + tagAt, Tag.F64, load<u64>(from));
  }
}

export function sumMerge(set: GroupSet, agg: AggregateSpec, to: usize, tagTo: usize, from: usize, tag: u8): void {
  if (tag != Tag.MISSING) addToSum(set, Agg.SUM, to, tagTo, tag, load<u64>(from));
}

export function sumFinish(agg: AggregateSpec, state: usize, tag: u8): void {
  giveValue(tag, load<u64>(state));
}
