// collect(x): an array of all values, nulls kept.
import { Agg } from '../../gen/aggregates';
import { Tag, span } from '../../mem/layout';
import { keepItem, keepParameter } from '../state/keep';
import { giveResult } from '../state/result';
import { AggregateSpec } from '../../gen/window-layouts';
import { GroupSet } from '../group/table';

export function collectTake(
  set: GroupSet,
  agg: AggregateSpec,
  state: usize,
  tagAt: usize,
  tag: u8,
  payload: u64,
  row: u32,
): void {
  if (keepParameter(set, agg, state, tagAt, row)) keepItem(set, Agg.COLLECT, state, tagAt, tag, payload);
}

export function collectFinish(agg: AggregateSpec, state: usize, tag: u8): void {
  giveResult(Tag.ARRAY, span(<usize>load<u32>(state), load<u32>(state, 4)));
}
