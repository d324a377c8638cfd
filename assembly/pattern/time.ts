// When searches become final without a row: by the bound of WITHIN, or because a row has not come.
import * as ctx from '../batch/context';
import { exhaust, isExhausted, accountOf } from '../node/node';
import { clearDeadline, setDeadline } from '../node/timers';
import { Node } from '../gen/node-layouts';
import { PatternFlag, PatternOp, PatternSpec } from '../gen/pattern-layouts';
import { firstDue, setDue } from './due';
import { specOf, stepAt } from './spec';
import { Partial, Partition, PatternState, Run, Search, endOf, partialsOf, timeOf } from './state';

/** Notes when the first search of the partition becomes final without a row; `order` as for `setDue`. */
export function plan(node: Node, spec: PatternSpec, state: PatternState, partition: Partition, order: u32): void {
  if (!(spec.within > 0) && !(spec.absentMs > 0)) return;
  let due: f64 = Infinity;
  for (let search = partition.search; search; search = search.next) {
    due = min(due, dueOf(spec, partition, search));
    if (!(spec.absentMs > 0)) break;
  }
  if (!setDue(state, partition, due, order, accountOf(node))) exhaust(node);
}

/** Notes this for all partitions, whose searches were loaded. */
export function planAll(node: Node): void {
  const state = changetype<PatternState>(node.state);
  for (let entry = state.first; entry; entry = entry.next) {
    const partition = changetype<Partition>(entry);
    plan(node, specOf(node), state, partition, partition.order);
  }
  awaitDue(node);
}

/**
 * Sets the deadline of the node: the clock says when searches become final in processing time, and when keys are
 * forgotten for which nothing comes.
 */
export function awaitDue(node: Node): void {
  const spec = specOf(node);
  const state = changetype<PatternState>(node.state);
  let at: f64 = Infinity;
  if (!(spec.flags & PatternFlag.EVENT_TIME)) {
    const next = firstDue(state);
    // The bound itself belongs to the match. What was left for later goes on with the next call.
    if (next) at = max(next.due, ctx.nowMs) + 1;
  }
  if (state.isAging && state.first) at = min(at, max(state.first.seen + spec.ttl, ctx.nowMs + 1));
  if (at == Infinity) clearDeadline(node);
  else if (!setDeadline(node, at)) exhaust(node);
}

/** Infinity where a row has come by `ms` that the search has not taken: its condition waits for those behind it. */
// @ts-ignore: decorator
@inline function unlessHeldBack(spec: PatternSpec, partition: Partition, search: Search, ms: f64): f64 {
  if (!spec.ahead || search.at == endOf(partition) || timeOf(partition, search.at) > ms) return ms;
  return Infinity;
}

/** When the search takes no more rows because the last of them would be too late. */
// @ts-ignore: decorator
@inline export function boundOf(spec: PatternSpec, partition: Partition, search: Search): f64 {
  if (!(spec.within > 0)) return Infinity;
  return unlessHeldBack(spec, partition, search, timeOf(partition, search.start) + spec.within);
}

/** When it is known that no row has come that a partial match at the end waits not to come. */
// @ts-ignore: decorator
@inline export function absentAt(spec: PatternSpec, partition: Partition, search: Search, rows: Run): f64 {
  return unlessHeldBack(spec, partition, search, timeOf(partition, rows.end - 1) + spec.absentMs);
}

/** When a search becomes final, or comes nearer to that, without a row. */
export function dueOf(spec: PatternSpec, partition: Partition, search: Search): f64 {
  const bound = boundOf(spec, partition, search);
  if (!(spec.absentMs > 0)) return bound;
  let due: f64 = Infinity;
  let takesRows = false;
  const partials = partialsOf(search);
  for (let i: u32 = 0; i < search.count; i++) {
    const partial = changetype<Partial>(partials + ((<usize>i) << 3));
    if (stepAt(spec, partial.step).op != PatternOp.ABSENT) takesRows = true;
    else due = min(due, absentAt(spec, partition, search, partial.rows));
  }
  return takesRows ? min(due, bound) : due;
}

/** True when the node has work to do for the time `ms`, and may do it now. */
export function isDue(node: Node, ms: f64): bool {
  const partition = firstDue(changetype<PatternState>(node.state));
  return !isExhausted(node) && !!partition && partition.due < ms;
}
