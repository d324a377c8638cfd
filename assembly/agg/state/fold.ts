// Aggregates of the host whose states the kernel keeps as bytes: rows are taken in, and states joined, by one call for
// many groups.
//
//   state   value u64, BYTES | room u32 | place u32 (in the call that is made ready, from 1; 0 none); the tag MISSING:
//   no state yet
import { HostPart } from '../../gen/ops-layouts';
import { Tag } from '../../mem/layout';
import {
  CALL_ROWS,
  callArg,
  callBegin,
  callEnd,
  callGroup,
  callRow,
  callRun,
  groupTag,
  groupVal,
  rowTag,
  rowVal,
} from '../../ops/call/states';
import { bindOf, bindTag, bindVal, foldedInput } from '../group/spec';
import { failAggregate, storeValue } from './take';
import { WindowSpec, AggregateSpec } from '../../gen/window-layouts';
import { GroupSet } from '../group/table';

const PLACE: usize = 12;
/** Groups of the call, in the order of their numbers. */
const GROUPS: usize = memory.data(4 * 512, 16);

/** Takes the rows `sel[0 … n)` of the groups into their states. */
export function foldRows(
  spec: WindowSpec,
  set: GroupSet,
  agg: AggregateSpec,
  tagAt: u32,
  sel: usize,
  groups: usize,
  n: u32,
): void {
  for (let done: u32 = 0; done < n; done += CALL_ROWS) {
    foldPart(
      spec,
      set,
      agg,
      tagAt,
      sel + ((<usize>done) << 2),
      groups + ((<usize>done) << 2),
      min(n - done, CALL_ROWS),
    );
  }
}

function foldPart(
  spec: WindowSpec,
  set: GroupSet,
  agg: AggregateSpec,
  tagAt: u32,
  sel: usize,
  groups: usize,
  n: u32,
): void {
  const args = <u32>agg.b;
  if (!callBegin(args)) return;
  const at = agg.state;
  let count: u32 = 0;
  for (let i: u32 = 0; i < n; i++) {
    const row = load<u32>(sel + ((<usize>i) << 2));
    const group = <usize>load<u32>(groups + ((<usize>i) << 2));
    const tag = load<u8>(group + tagAt);
    if (tag == Tag.ERROR || argumentFails(spec, set, agg, args, group + at, group + tagAt, row)) continue;
    let place = load<u32>(group + at, PLACE);
    if (!place) {
      place = callGroup(tag, load<u64>(group + at)) + 1;
      store<u32>(group + at, place, PLACE);
      store<u32>(GROUPS + ((<usize>count) << 2), <u32>group);
      count = place;
    }
    const k = callRow(place - 1);
    for (let a: u32 = 0; a < args; a++) {
      const bind = bindOf(foldedInput(spec, agg, a));
      callArg(a, k, bindTag(bind, row), bindVal(bind, row));
    }
  }
  callRun(agg.call, HostPart.STEP);
  for (let g: u32 = 0; g < count; g++) {
    const group = <usize>load<u32>(GROUPS + ((<usize>g) << 2));
    store<u32>(group + at, 0, PLACE);
    // A later row may have made the aggregate fail.
    if (load<u8>(group + tagAt) != Tag.ERROR) take(set, group + at, group + tagAt, groupTag(g), groupVal(g));
  }
  callEnd(true);
}

function argumentFails(
  spec: WindowSpec,
  set: GroupSet,
  agg: AggregateSpec,
  args: u32,
  state: usize,
  tagAt: usize,
  row: u32,
): bool {
  for (let a: u32 = 0; a < args; a++) {
    const bind = bindOf(foldedInput(spec, agg, a));
    if (bindTag(bind, row) != Tag.ERROR) continue;
    failAggregate(set, state, tagAt, bindVal(bind, row));
    return true;
  }
  return false;
}

/** Stores the state that the host returned; NULL means that there is none, and ERROR makes the aggregate fail. */
function take(set: GroupSet, state: usize, tagAt: usize, tag: u8, payload: u64): void {
  if (tag == Tag.BYTES) {
    storeValue(set.values, state, tag, payload);
    store<u8>(tagAt, tag);
  } else if (tag == Tag.ERROR) failAggregate(set, state, tagAt, payload);
  else if (tag == Tag.NULL) store<u8>(tagAt, Tag.MISSING);
}

// ---- joining ------------------------------------------------------------------------------------------------------

//   pair   set u32 | call u32 | state u32 | tag u32 (addresses) | state to be added u64 | isDone u32 | 0 u32
const PAIR_SIZE: u32 = 32;
const PAIRS: usize = memory.data(32 * 512, 16);
const PAIR_CALL: usize = 4;
const PAIR_STATE: usize = 8;
const PAIR_TAG: usize = 12;
const PAIR_LATER: usize = 16;
const PAIR_DONE: usize = 24;
let pairs: u32 = 0;

/** Adds state `from`, which has the tag, to state `to`: at once or later with others, at the latest in `joinStates`. */
export function joinLater(set: GroupSet, agg: AggregateSpec, to: usize, tagTo: usize, from: usize, tag: u8): void {
  if (tag != Tag.BYTES) return;
  if (load<u32>(from, PLACE) | load<u32>(to, PLACE)) joinStates();
  if (load<u8>(tagTo) != Tag.BYTES) {
    if (load<u8>(tagTo) != Tag.ERROR) take(set, to, tagTo, tag, load<u64>(from));
    return;
  }
  const pair = PAIRS + pairs++ * PAIR_SIZE;
  store<u32>(pair, changetype<u32>(set));
  store<u32>(pair, agg.call, PAIR_CALL);
  store<u32>(pair, <u32>to, PAIR_STATE);
  store<u32>(pair, <u32>tagTo, PAIR_TAG);
  store<u64>(pair, load<u64>(from), PAIR_LATER);
  store<u32>(pair, 0, PAIR_DONE);
  store<u32>(to, 1, PLACE);
  if (pairs == CALL_ROWS) joinStates();
}

/** Joins all states that wait for it. */
export function joinStates(): void {
  for (let i: u32 = 0; i < pairs; i++) {
    const pair = PAIRS + i * PAIR_SIZE;
    if (!load<u32>(pair, PAIR_DONE)) joinAll(i, load<u32>(pair, PAIR_CALL));
  }
  pairs = 0;
}

/** Joins the pairs from `first` on that belong to function `fn`. */
function joinAll(first: u32, fn: u32): void {
  const isReady = callBegin(2);
  for (let i = first; i < pairs; i++) {
    const pair = PAIRS + i * PAIR_SIZE;
    if (load<u32>(pair, PAIR_CALL) != fn) continue;
    store<u32>(pair, 1, PAIR_DONE);
    const state = <usize>load<u32>(pair, PAIR_STATE);
    store<u32>(state, 0, PLACE);
    // An error that came meanwhile has taken the place of the state.
    if (load<u8>(<usize>load<u32>(pair, PAIR_TAG)) != Tag.BYTES) store<u32>(pair, 0, PAIR_STATE);
    if (!isReady || !load<u32>(pair, PAIR_STATE)) continue;
    const k = callRow(0);
    callArg(0, k, Tag.BYTES, load<u64>(state));
    callArg(1, k, Tag.BYTES, load<u64>(pair, PAIR_LATER));
  }
  if (!isReady) return;
  callRun(fn, HostPart.MERGE);
  let k: u32 = 0;
  for (let i = first; i < pairs; i++) {
    const pair = PAIRS + i * PAIR_SIZE;
    if (load<u32>(pair, PAIR_CALL) != fn || !load<u32>(pair, PAIR_STATE)) continue;
    take(
      changetype<GroupSet>(load<u32>(pair)),
      <usize>load<u32>(pair, PAIR_STATE),
      <usize>load<u32>(pair, PAIR_TAG),
      rowTag(k),
      rowVal(k),
    );
    k++;
  }
  callEnd(true);
}
