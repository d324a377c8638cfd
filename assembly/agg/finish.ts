// Results of aggregate states.
import { finishState } from './gen/functions';
import { Tag } from '../mem/layout';
import { AGG_FN, AGG_STATE } from './group/spec';
import { giveResult } from './state/result';

/**
 * Computes the result of one aggregate of a group into resultTag and resultVal. What it refers to lives as long as the
 * set or the batch. An aggregate that failed results in its error.
 */
export function finish(agg: usize, group: usize, tagAt: u32): void {
  const fn = <u32>load<u16>(agg, AGG_FN);
  const state = group + load<u32>(agg, AGG_STATE);
  const tag = load<u8>(group + tagAt);
  if (tag == Tag.ERROR) {
    giveResult(Tag.ERROR, load<u64>(state));
    return;
  }
  finishState(fn, agg, state, tag);
}
