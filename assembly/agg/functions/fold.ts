// Aggregates of the host: what the window gives of a group is its state, of which a call above it makes the result.
import { joinLater } from '../state/fold';
import { giveValue } from '../state/result';

export function foldFinish(agg: usize, state: usize, tag: u8): void {
  giveValue(tag, load<u64>(state));
}

export function foldJoinedFinish(agg: usize, state: usize, tag: u8): void {
  foldFinish(agg, state, tag);
}

export function foldJoinedMerge(set: usize, agg: usize, to: usize, tagTo: usize, from: usize, tag: u8): void {
  joinLater(set, agg, to, tagTo, from, tag);
}
