// Results of aggregate states.
import { finishState } from './gen/functions';
import { Tag } from '../mem/layout';
import { giveResult } from './state/result';
import { AggregateSpec } from '../gen/window-layouts';
import { Group } from './group/table';

/**
 * Computes the result of one aggregate of a group into resultTag and resultVal. The result lives as long as the set or
 * the batch. An aggregate that failed results in its error.
 */
export function finish(agg: AggregateSpec, group: Group, tagAt: u32): void {
  const fn = <u32>agg.fn;
  const state = changetype<usize>(group) + agg.state;
  const tag = load<u8>(changetype<usize>(group) + tagAt);
  if (tag == Tag.ERROR) {
    giveResult(Tag.ERROR, load<u64>(state));
    return;
  }
  finishState(fn, agg, state, tag);
}
