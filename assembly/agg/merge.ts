// Joins the states of a later part of a window to those of an earlier part; only for aggregates whose state has a fixed
// size (`isMergeable`).
import { Agg } from '../gen/aggregates';
import { Tag } from '../mem/layout';
import { AGG_SIZE, GROUP_HEAD, G_B, G_FN, G_STATE, NO_INPUT, S_AGGS, S_KEEPS, S_TAGS_AT, aggsAt, bindOf, bindTag, bindVal, isTrue } from './spec';
import { SET_VALUES } from './group';
import { addToSum, storeValue, takeExtreme } from './accumulate';

/** True when last_value passes over nulls; its parameter must be a constant, which is bound for every row. */
function ignoresNulls(agg: usize): bool {
  const input = load<u16>(agg, G_B);
  return input != NO_INPUT && isTrue(bindTag(bindOf(input), 0), bindVal(bindOf(input), 0));
}

function copyState(set: usize, to: usize, from: usize, tagTo: usize, tag: u8): void {
  storeValue(set + SET_VALUES, to, tag, load<u64>(from));
  store<u32>(to, 1, 12);
  store<u8>(tagTo, tag);
}

/**
 * Adds group `later` to group `earlier`, which belongs to `set`. An aggregate that failed in one of them fails in both; the
 * reason stays where it is.
 */
export function mergeGroup(spec: usize, set: usize, earlier: usize, later: usize): void {
  const count = load<u32>(spec, S_AGGS);
  let tagAt = load<u32>(spec, S_TAGS_AT) + load<u32>(spec, S_KEEPS);
  let agg = aggsAt(spec);
  for (let i: u32 = 0; i < count; i++, agg += AGG_SIZE, tagAt++) {
    const fn = <u32>load<u16>(agg, G_FN);
    const to = earlier + load<u32>(agg, G_STATE);
    const from = later + load<u32>(agg, G_STATE);
    const tag = load<u8>(later + tagAt);
    if (load<u8>(earlier + tagAt) == Tag.ERROR) continue;
    if (tag == Tag.ERROR) {
      store<u64>(to, load<u64>(from));
      store<u8>(earlier + tagAt, Tag.ERROR);
      continue;
    }
    switch (fn) {
      case Agg.COUNT:
      case Agg.COUNT_ALL:
        store<u64>(to, load<u64>(to) + load<u64>(from));
        break;
      case Agg.SUM:
        if (tag != Tag.MISSING) addToSum(set, fn, to, earlier + tagAt, tag, load<u64>(from));
        break;
      case Agg.AVG:
        if (tag != Tag.MISSING) addToSum(set, fn, to, earlier + tagAt, tag, load<u64>(from));
        store<u64>(to, load<u64>(to, 8) + load<u64>(from, 8), 8);
        break;
      case Agg.MIN:
      case Agg.MAX:
        if (tag != Tag.MISSING) takeExtreme(set, fn, to, earlier + tagAt, tag, load<u64>(from));
        break;
      case Agg.FIRST_VALUE:
        if (!load<u32>(to, 12) && load<u32>(from, 12)) copyState(set, to, from, earlier + tagAt, tag);
        break;
      default:
        if (load<u32>(from, 12) && !(tag <= Tag.NULL && ignoresNulls(agg))) copyState(set, to, from, earlier + tagAt, tag);
    }
  }
}

/** The kept values are those of the first row; what they refer to lives in the other set. */
export function keepOf(spec: usize, group: usize, from: usize): void {
  const keeps = load<u32>(spec, S_KEEPS);
  const tagsAt = load<u32>(spec, S_TAGS_AT);
  memory.copy(group + GROUP_HEAD, from + GROUP_HEAD, <usize>keeps << 3);
  memory.copy(group + tagsAt, from + tagsAt, keeps);
}
