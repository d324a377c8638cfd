// Joins the states of a later part of a window to those of an earlier part; only for aggregates whose state has a fixed
// size (`isMergeable`).
import { mergeState } from './gen/functions';
import { Tag } from '../mem/layout';
import { joinStates } from './state/fold';
import { isNew, regroup } from './group/group';
import { GROUP_NEXT } from './group/table';
import {
  AGG_SIZE_OF,
  GROUP_HEAD,
  AGG_FN,
  AGG_STATE,
  WINDOW_AGGS,
  WINDOW_KEEPS,
  WINDOW_TAGS_AT,
  aggsAt,
} from './group/spec';

/**
 * Adds group `later` to group `earlier`, which belongs to `set`; with the last of several `mergeEnd` is called. An
 * aggregate that failed in one of them fails in both; the reason stays where it is.
 */
export function mergeGroup(spec: usize, set: usize, earlier: usize, later: usize): void {
  const count = load<u32>(spec, WINDOW_AGGS);
  let tagAt = load<u32>(spec, WINDOW_TAGS_AT) + load<u32>(spec, WINDOW_KEEPS);
  let agg = aggsAt(spec);
  for (let i: u32 = 0; i < count; i++, agg += AGG_SIZE_OF, tagAt++) {
    const fn = <u32>load<u16>(agg, AGG_FN);
    const to = earlier + load<u32>(agg, AGG_STATE);
    const from = later + load<u32>(agg, AGG_STATE);
    const tag = load<u8>(later + tagAt);
    if (load<u8>(earlier + tagAt) == Tag.ERROR) continue;
    if (tag == Tag.ERROR) {
      store<u64>(to, load<u64>(from));
      store<u8>(earlier + tagAt, Tag.ERROR);
      continue;
    }
    mergeState(fn, set, agg, to, earlier + tagAt, from, tag);
  }
}

/** All groups are added that go together: what waited to be joined with others is joined. */
export function mergeEnd(): void {
  joinStates();
}

/**
 * Adds so many groups of set `later`, `first` and those behind it; returns the one that comes next, 0 none, or when
 * memory is exhausted (`refusals`).
 */
export function mergeSome(spec: usize, set: usize, later: usize, first: usize, most: u32): usize {
  let from = first;
  for (; from && most > 0; most--, from = <usize>load<u32>(from, GROUP_NEXT)) {
    const group = regroup(spec, set, later, from);
    if (!group) {
      from = 0;
      break;
    }
    if (isNew) keepOf(spec, group, from);
    mergeGroup(spec, set, group, from);
  }
  mergeEnd();
  return from;
}

/** The kept values are those of the first row; what they refer to lives in the other set. */
export function keepOf(spec: usize, group: usize, from: usize): void {
  const keeps = load<u32>(spec, WINDOW_KEEPS);
  const tagsAt = load<u32>(spec, WINDOW_TAGS_AT);
  memory.copy(group + GROUP_HEAD, from + GROUP_HEAD, (<usize>keeps) << 3);
  memory.copy(group + tagsAt, from + tagsAt, keeps);
}
