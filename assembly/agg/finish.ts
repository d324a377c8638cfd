// Results of aggregate states.
import { Agg } from '../gen/aggregates';
import { Tag, span } from '../mem/layout';
import { G_FN, G_STATE } from './spec';
import { dedupe, mergeObjects } from './kept';
import { giveResult } from './result';
import { deviation, median, percentile } from './statistics';

/**
 * Computes the result of one aggregate of a group into resultTag and resultVal. What it refers to lives as long as the
 * set or the batch. An aggregate that failed results in its error.
 */
export function finish(agg: usize, group: usize, tagAt: u32): void {
  const fn = <u32>load<u16>(agg, G_FN);
  const state = group + load<u32>(agg, G_STATE);
  const tag = load<u8>(group + tagAt);
  if (tag == Tag.ERROR) {
    giveResult(Tag.ERROR, load<u64>(state));
    return;
  }
  switch (fn) {
    case Agg.COUNT:
    case Agg.COUNT_ALL:
      giveResult(Tag.I64, load<u64>(state));
      return;
    case Agg.AVG:
      if (tag == Tag.I64) giveResult(Tag.I64, <u64>(load<i64>(state) / load<i64>(state, 8)));
      else if (tag == Tag.F64) giveResult(Tag.F64, reinterpret<u64>(load<f64>(state) / <f64>load<u64>(state, 8)));
      else giveResult(Tag.NULL, 0);
      return;
    case Agg.SUM:
    case Agg.MIN:
    case Agg.MAX:
    case Agg.FIRST_VALUE:
    case Agg.LAST_VALUE:
      giveResult(tag == Tag.MISSING ? Tag.NULL : tag, load<u64>(state));
      return;
    case Agg.COLLECT:
      giveResult(Tag.ARRAY, span(<usize>load<u32>(state), load<u32>(state, 4)));
      return;
    case Agg.MERGE_AGG:
      mergeObjects(state);
      return;
    case Agg.DEDUPLICATE:
      dedupe(agg, state, tag);
      return;
    case Agg.MEDIAN:
      median(state);
      return;
    case Agg.PERCENTILE_CONT:
    case Agg.PERCENTILE_DISC:
      percentile(fn, state, tag);
      return;
    default:
      deviation(fn, state);
  }
}
