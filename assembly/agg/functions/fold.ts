// Aggregates of the host: the window gives the state of a group, from which a call above makes the result.
import { joinLater } from '../state/fold';
import { giveValue } from '../state/result';
import { AggregateSpec } from '../../gen/window-layouts';
import { GroupSet } from '../group/table';

export function foldFinish(agg: AggregateSpec, state: usize, tag: u8): void {
  giveValue(tag, load<u64>(state));
}

export function foldJoinedFinish(agg: AggregateSpec, state: usize, tag: u8): void {
  foldFinish(agg, state, tag);
}

export function foldJoinedMerge(
  set: GroupSet,
  agg: AggregateSpec,
  to: usize,
  tagTo: usize,
  from: usize,
  tag: u8,
): void {
  joinLater(set, agg, to, tagTo, from, tag);
}
