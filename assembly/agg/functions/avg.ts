// avg(x): of integers an integer.
import { Agg } from '../../gen/aggregates';
import { Tag } from '../../mem/layout';
import { giveResult } from '../result';
import { addToSum } from '../take';

const COUNT: usize = 8;

export function avgTake(set: usize, agg: usize, state: usize, tagAt: usize, tag: u8, payload: u64, row: u32): void {
  if (tag <= Tag.NULL) return;
  addToSum(set, Agg.AVG, state, tagAt, tag, payload);
  store<u64>(state, load<u64>(state, COUNT) + 1, COUNT);
}

export function avgDoubles(set: usize, at: u32, tagAt: u32, vals: usize, sel: usize, groups: usize, n: u32): void {
  for (let i: u32 = 0; i < n; i++) {
    const group = <usize>load<u32>(groups + (<usize>i << 2));
    const from = vals + (<usize>load<u32>(sel + (<usize>i << 2)) << 3);
    if (load<u8>(group + tagAt) == Tag.F64) store<f64>(group + at, load<f64>(group + at) + load<f64>(from));
    else addToSum(set, Agg.AVG, group + at, group + tagAt, Tag.F64, load<u64>(from));
    store<u64>(group + at, load<u64>(group + at, COUNT) + 1, COUNT);
  }
}

export function avgMerge(set: usize, agg: usize, to: usize, tagTo: usize, from: usize, tag: u8): void {
  if (tag != Tag.MISSING) addToSum(set, Agg.AVG, to, tagTo, tag, load<u64>(from));
  store<u64>(to, load<u64>(to, COUNT) + load<u64>(from, COUNT), COUNT);
}

export function avgFinish(agg: usize, state: usize, tag: u8): void {
  if (tag == Tag.I64) giveResult(Tag.I64, <u64>(load<i64>(state) / load<i64>(state, COUNT)));
  else if (tag == Tag.F64) giveResult(Tag.F64, reinterpret<u64>(load<f64>(state) / <f64>load<u64>(state, COUNT)));
  else giveResult(Tag.NULL, 0);
}
