// collect(x): an array of all values, nulls kept.
import { Agg } from '../../gen/aggregates';
import { Tag, span } from '../../mem/layout';
import { keepItem, keepParameter } from '../state/keep';
import { giveResult } from '../state/result';

export function collectTake(set: usize, agg: usize, state: usize, tagAt: usize, tag: u8, payload: u64, row: u32): void {
  if (keepParameter(set, agg, state, tagAt, row)) keepItem(set, Agg.COLLECT, state, tagAt, tag, payload);
}

export function collectFinish(agg: usize, state: usize, tag: u8): void {
  giveResult(Tag.ARRAY, span(<usize>load<u32>(state), load<u32>(state, 4)));
}
