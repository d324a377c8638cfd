// Takes rows into the aggregate states of their groups, one aggregate after the other over the whole batch.
//
// The forms of the states stand in aggregates.json. The tag byte of an aggregate is MISSING until a value was seen, so
// a group starts as zeros. A value that the aggregate cannot take makes it ERROR for good, and the reason takes the
// place of the state. Other aggregates and groups go on.
import * as ctx from '../batch/context';
import { takeDoubles, takeValue } from './gen/functions';
import { takesBatch } from '../gen/aggregates';
import { refusals } from '../mem/alloc';
import { BATCH_ROWS, Tag } from '../mem/layout';
import { foldRows } from './state/fold';
import { assignGroups, separateGroups, setLose } from './group/group';
import { AGG_SIZE_OF, NO_INPUT, aggsAt, bindOf, bindTag, bindUniform, bindVal, isTrue } from './group/spec';
import { isPinned } from './group/changes';
import { failAggregate } from './state/take';
import { walkHold } from './save/walk';
import { WindowSpec, AggregateSpec } from '../gen/window-layouts';
import { Bind } from '../mem/bind';
import { GroupSet } from './group/table';

const GROUPS: usize = memory.data(4 * 1024, 16);
const FILTERED_GROUPS: usize = memory.data(4 * 1024, 16);
const FILTERED_ROWS: usize = memory.data(4 * 1024, 16);

/**
 * Takes the rows `sel[0 … n)` of the bound inputs into the set; a failed value makes its aggregate fail. Returns false
 * when memory is exhausted. The set is then empty, so that its memory serves others and no message is sent that leaves
 * values out.
 */
export function accumulate(spec: WindowSpec, set: GroupSet, sel: usize, n: u32): bool {
  let done: u32 = 0;
  while (done < n) {
    const part = min(n - done, BATCH_ROWS);
    if (!accumulatePart(spec, set, sel + ((<usize>done) << 2), part)) {
      setLose(set);
      return false;
    }
    done += part;
  }
  return true;
}

function accumulatePart(spec: WindowSpec, set: GroupSet, sel: usize, n: u32): bool {
  ctx.addWork(n);
  const before = refusals;
  if (!assignGroups(spec, changetype<usize>(set), sel, n, GROUPS)) return false;
  if (isPinned(set)) walkHold(spec, set, GROUPS, n);
  takeRows(spec, set, sel, n);
  return refusals == before;
}

/** As `accumulate` for at most BATCH_ROWS rows, each of which becomes a group of its own; see `separateGroups`. */
export function accumulateSeparately(spec: WindowSpec, set: GroupSet, sel: usize, n: u32, keyed: usize): bool {
  const before = refusals;
  if (!separateGroups(spec, set, sel, n, GROUPS, keyed)) return false;
  takeRows(spec, set, sel, n);
  return refusals == before;
}

/**
 * Takes at most BATCH_ROWS rows into states that belong to no set: the groups at `groups` begin at their states less
 * `statesAt`. What is no number is kept in the set. False when memory is exhausted.
 */
export function accumulateInto(spec: WindowSpec, set: GroupSet, sel: usize, n: u32, groups: usize): bool {
  ctx.addWork(n);
  const before = refusals;
  memory.copy(GROUPS, groups, n << 2);
  takeRows(spec, set, sel, n);
  return refusals == before;
}

function takeRows(spec: WindowSpec, set: GroupSet, sel: usize, n: u32): void {
  set.rows += n;
  const count = spec.aggs;
  let tagAt = spec.tagsAt + spec.keeps;
  let agg = aggsAt(spec);
  for (let i: u32 = 0; i < count; i++, agg += AGG_SIZE_OF, tagAt++) {
    const filter = load<u16>(agg, offsetof<AggregateSpec>('filter'));
    if (filter == NO_INPUT) {
      step(spec, set, changetype<AggregateSpec>(agg), tagAt, sel, GROUPS, n);
      continue;
    }
    const kept = keepFiltered(set, bindOf(filter), load<u32>(agg, offsetof<AggregateSpec>('state')), tagAt, sel, n);
    step(spec, set, changetype<AggregateSpec>(agg), tagAt, FILTERED_ROWS, FILTERED_GROUPS, kept);
  }
}

function keepFiltered(set: GroupSet, filter: Bind, at: u32, tagAt: u32, sel: usize, n: u32): u32 {
  let kept: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    const tag = bindTag(filter, row);
    const payload = bindVal(filter, row);
    const group = <usize>load<u32>(GROUPS + ((<usize>i) << 2));
    if (tag == Tag.ERROR && load<u8>(group + tagAt) != Tag.ERROR)
      failAggregate(set, group + at, group + tagAt, payload);
    if (!isTrue(tag, payload)) continue;
    store<u32>(FILTERED_ROWS + ((<usize>kept) << 2), row);
    store<u32>(FILTERED_GROUPS + ((<usize>kept) << 2), <u32>group);
    kept++;
  }
  return kept;
}

function step(
  spec: WindowSpec,
  set: GroupSet,
  agg: AggregateSpec,
  tagAt: u32,
  sel: usize,
  groups: usize,
  n: u32,
): void {
  const fn = <u32>agg.fn;
  if (takesBatch(fn)) {
    foldRows(spec, set, agg, tagAt, sel, groups, n);
    return;
  }
  const at = agg.state;
  const input = agg.a;
  if (input == NO_INPUT) {
    takeDoubles(fn, set, at, tagAt, 0, sel, groups, n);
    return;
  }
  const bind = bindOf(input);
  const isDoubles = bindUniform(bind) == Tag.F64 && bind.stride == 1;
  if (isDoubles && takeDoubles(fn, set, at, tagAt, bind.vals, sel, groups, n)) return;
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    const tag = bindTag(bind, row);
    const payload = bindVal(bind, row);
    const group = <usize>load<u32>(groups + ((<usize>i) << 2));
    if (load<u8>(group + tagAt) == Tag.ERROR) continue;
    if (tag == Tag.ERROR) failAggregate(set, group + at, group + tagAt, payload);
    else takeValue(fn, set, agg, group + at, group + tagAt, tag, payload, row);
  }
}
