// Joins the states of a later part of a window to those of an earlier part; only for aggregates whose state has a fixed
// size (`isMergeable`).
import { mergeState } from './gen/functions';
import { Tag } from '../mem/layout';
import { joinStates } from './state/fold';
import { isNew, regroup } from './group/group';
import { AGG_SIZE_OF, GROUP_HEAD, aggsAt } from './group/spec';
import { WindowSpec, AggregateSpec } from '../gen/window-layouts';
import { GroupSet, Group } from './group/table';

/**
 * Adds group `later` to group `earlier`, which belongs to `set`; `mergeEnd` is called after the last group. An
 * aggregate that failed in one of them fails in both; the reason stays where it is.
 */
export function mergeGroup(spec: WindowSpec, set: GroupSet, earlier: Group, later: Group): void {
  const count = spec.aggs;
  let tagAt = spec.tagsAt + spec.keeps;
  let agg = aggsAt(spec);
  for (let i: u32 = 0; i < count; i++, agg += AGG_SIZE_OF, tagAt++) {
    const fn = <u32>load<u16>(agg, offsetof<AggregateSpec>('fn'));
    const to = changetype<usize>(earlier) + load<u32>(agg, offsetof<AggregateSpec>('state'));
    const from = changetype<usize>(later) + load<u32>(agg, offsetof<AggregateSpec>('state'));
    const tag = load<u8>(changetype<usize>(later) + tagAt);
    if (load<u8>(changetype<usize>(earlier) + tagAt) == Tag.ERROR) continue;
    if (tag == Tag.ERROR) {
      store<u64>(to, load<u64>(from));
      store<u8>(changetype<usize>(earlier) + tagAt, Tag.ERROR);
      continue;
    }
    mergeState(fn, set, changetype<AggregateSpec>(agg), to, changetype<usize>(earlier) + tagAt, from, tag);
  }
}

/** Ends the adding of groups: states that wait to be joined are joined. */
export function mergeEnd(): void {
  joinStates();
}

/**
 * Adds at most `most` groups of set `later`, from `first` on. Returns the next group, 0 at the end or when memory is
 * exhausted (`refusals`).
 */
export function mergeSome(spec: WindowSpec, set: GroupSet, later: GroupSet, first: Group, most: u32): Group {
  let from = first;
  for (; from && most > 0; most--, changetype<usize>((from = from.next))) {
    const group = regroup(spec, changetype<usize>(set), later, from);
    if (!group) {
      from = changetype<Group>(0);
      break;
    }
    if (isNew) keepOf(spec, group, from);
    mergeGroup(spec, set, group, from);
  }
  mergeEnd();
  return from;
}

/** Copies the kept values of the first row; texts that they refer to stay in the other set. */
export function keepOf(spec: WindowSpec, group: Group, from: Group): void {
  const keeps = spec.keeps;
  const tagsAt = spec.tagsAt;
  memory.copy(changetype<usize>(group) + GROUP_HEAD, changetype<usize>(from) + GROUP_HEAD, (<usize>keeps) << 3);
  memory.copy(changetype<usize>(group) + tagsAt, changetype<usize>(from) + tagsAt, keeps);
}
