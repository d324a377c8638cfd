// The search for matches in the rows of a partition. A search takes one row after the other: each of its partial
// matches, the preferred one first, goes on by the row or ends. It is decided when a match was found that no other
// partial match is preferred to, or when none is left. Then the match is sent, and the next search begins where SKIP
// says. With SKIP TO NEXT ROW a search begins with each row, and all of them take rows together.
import * as ctx from '../batch/context';
import { accountOf, addException, exhaust, giveUp, isExhausted } from '../node/node';
import { alloc, free } from '../mem/alloc';
import { lenOf, offOf } from '../mem/layout';
import { plainError } from '../value/error';
import { Node } from '../gen/node-layouts';
import { PatternFlag, PatternOp, PatternSkip, PatternSpec } from '../gen/pattern-layouts';
import { clearDeadline, setDeadline } from '../node/timers';
import { firstDue, setDue } from './due';
import { judge, isTrueFor } from './judge';
import { skipFails } from './send';
import { specOf, stepAt } from './spec';
import {
  EXCLUDED,
  Partial,
  Partition,
  PatternState,
  Run,
  Search,
  addSearch,
  dropSearch,
  endOf,
  keepRun,
  leaveRun,
  partialAt,
  refAt,
  runWith,
  setPartials,
  timeOf,
} from './state';
import { cover, deliver, noMatch, sendWaiting } from './waiting';

/** Partial matches that the search at work has after the row. */
let nextCount: u32 = 0;
let isOutOfMemory: bool = false;
/** A search may have come to its end since it was last looked for such. */
let isDecided: bool = false;

/** Takes the rows of a partition that may be taken; what becomes final does so at `ms`. */
export function advance(node: Node, partition: Partition, ms: f64): void {
  const spec = specOf(node);
  const state = changetype<PatternState>(node.state);
  while (!isExhausted(node)) {
    if (spec.skip == PatternSkip.NEXT) {
      const row = partition.search ? partition.search.at : partition.begin;
      if (row == partition.limit) break;
      if (row == partition.begin) begin(node, spec, state, partition, ms);
      if (partition.search && partition.search.at == row) takeRow(node, spec, state, partition, row);
    } else {
      if (!partition.search) {
        if (partition.begin == partition.limit) break;
        begin(node, spec, state, partition, ms);
      }
      const search = partition.search;
      if (!search) continue;
      if (search.at == partition.limit) break;
      takeRow(node, spec, state, partition, search.at);
    }
    if (isDecided || partition.waiting) settle(node, spec, partition, ms);
  }
  plan(node, spec, state, partition, 0);
}

/** Begins a search with the next row, unless no match can begin there. */
function begin(node: Node, spec: PatternSpec, state: PatternState, partition: Partition, ms: f64): void {
  const start = partition.begin++;
  const first = spec.first;
  if (first && !(refAt(partition, start).bits & first)) {
    noMatch(node, spec, partition, start, ms);
    return;
  }
  const acct = accountOf(node);
  const search = addSearch(partition, start, acct);
  nextCount = 0;
  isOutOfMemory = !search;
  state.stamp++;
  if (search && stepAt(spec, 0).op == PatternOp.ROW) isOutOfMemory = !add(state, 0, changetype<Run>(0));
  else if (search) reach(spec, state, search, 0, changetype<Run>(0), acct);
  if (!nextCount) isDecided = true;
  if (isOutOfMemory || !setPartials(partition, search, state.next, nextCount, acct)) exhaust(node);
}

/** All searches that have come to the row take it in. */
function takeRow(node: Node, spec: PatternSpec, state: PatternState, partition: Partition, row: u32): void {
  const looks = (spec.flags & PatternFlag.LOOKS_AT_MATCH) != 0;
  if (looks && !judge(node, spec, state, partition, row)) {
    exhaust(node);
    return;
  }
  ctx.addWork(partition.partials >> 3);
  let first: u32 = 0;
  const time = spec.within > 0 || spec.absentMs > 0 ? timeOf(partition, row) : 0;
  const bits = refAt(partition, row).bits;
  for (let search = partition.search; search && search.at == row; search = search.next) {
    const count = search.count;
    if (count != 1 || !takeOnly(node, spec, partition, search, row, time, bits, first)) {
      takeOne(node, spec, state, partition, search, row, time, first);
    }
    first += count;
    if (isExhausted(node)) return;
  }
  if (partition.partials > spec.most) tooMany(node, spec, partition);
}

/**
 * As `takeOne`, for a search with one partial match that is before a row and comes to one step with it, as most are;
 * false for others, which are left as they are.
 */
// @ts-ignore: decorator
@inline
function takeOnly(
  node: Node,
  spec: PatternSpec,
  partition: Partition,
  search: Search,
  row: u32,
  time: f64,
  bits: u64,
  judged: u32,
): bool {
  const partial = partialAt(search, 0);
  const at = partial.step;
  const step = stepAt(spec, at);
  const next = stepAt(spec, at + 1).op;
  if (step.op != PatternOp.ROW || next == PatternOp.SPLIT || next == PatternOp.JUMP) return false;
  const acct = accountOf(node);
  const rows = partial.rows;
  const isLate = spec.within > 0 && time - timeOf(partition, search.start) > spec.within;
  const looks = (spec.flags & PatternFlag.LOOKS_AT_MATCH) != 0;
  search.at = row + 1;
  if (!isLate && (bits >> step.a) & 1 && (!looks || isTrueFor(judged))) {
    const longer = runWith(rows, step.a | (step.b ? EXCLUDED : 0), row, acct);
    if (!longer) {
      exhaust(node);
      return true;
    }
    if (next != PatternOp.MATCH) {
      partial.step = at + 1;
      partial.rows = longer;
      return true;
    }
    leaveRun(search.best, acct);
    search.best = longer;
    search.hasBest = 1;
  } else leaveRun(rows, acct);
  partition.partials--;
  search.count = 0;
  isDecided = true;
  return true;
}

/** A search takes the row in; `judged` is the place of its first partial match among those that were judged. */
function takeOne(
  node: Node,
  spec: PatternSpec,
  state: PatternState,
  partition: Partition,
  search: Search,
  row: u32,
  time: f64,
  judged: u32,
): void {
  const acct = accountOf(node);
  const looks = (spec.flags & PatternFlag.LOOKS_AT_MATCH) != 0;
  const bits = refAt(partition, row).bits;
  const isLate = spec.within > 0 && time - timeOf(partition, search.start) > spec.within;
  const count = search.count;
  nextCount = 0;
  isOutOfMemory = false;
  state.stamp++;
  let isCut = false;
  for (let i: u32 = 0; i < count; i++) {
    const partial = partialAt(search, i);
    const rows = partial.rows;
    if (isCut) {
      leaveRun(rows, acct);
      continue;
    }
    const step = stepAt(spec, partial.step);
    const holds = ((bits >> step.a) & 1) != 0 && (!looks || isTrueFor(judged + i));
    if (looks) state.stamp++;
    if (step.op == PatternOp.ABSENT) {
      const isOver = time - timeOf(partition, rows.end - 1) > spec.absentMs;
      if (!isOver && holds) leaveRun(rows, acct);
      else if (!isOver) stay(state, partial);
      else isCut = !follow(spec, state, search, partial.step + 1, rows, acct);
    } else if (isLate || !holds) leaveRun(rows, acct);
    else {
      const longer = runWith(rows, step.a | (step.b ? EXCLUDED : 0), row, acct);
      if (!longer) isOutOfMemory = true;
      else isCut = !follow(spec, state, search, partial.step + 1, longer, acct);
    }
    if (isOutOfMemory) {
      exhaust(node);
      return;
    }
  }
  partition.partials -= search.count;
  search.count = 0;
  search.at = row + 1;
  if (!nextCount) isDecided = true;
  if (!setPartials(partition, search, state.next, nextCount, acct)) exhaust(node);
}

/** Goes on from a step with rows that are given up; false when a match was found, which less preferred ones are not. */
function follow(spec: PatternSpec, state: PatternState, search: Search, step: u32, rows: Run, acct: usize): bool {
  const goesOn = reach(spec, state, search, step, rows, acct);
  leaveRun(rows, acct);
  return goesOn;
}

/** A partial match stays where it is. */
function stay(state: PatternState, partial: Partial): void {
  if (!add(state, partial.step, partial.rows)) isOutOfMemory = true;
}

/**
 * Adds the steps that are reached from a step without a row, the preferred ones first; steps that were reached already
 * are passed over. False when the match was reached: what follows is less preferred.
 */
function reach(spec: PatternSpec, state: PatternState, search: Search, from: u32, rows: Run, acct: usize): bool {
  const marks = state.marks;
  const stamp = state.stamp;
  const stack = state.stack;
  store<u32>(stack, from);
  let depth: u32 = 1;
  while (depth) {
    const at = load<u32>(stack + ((--depth as usize) << 2));
    const mark = marks + ((<usize>at) << 2);
    if (load<u32>(mark) == stamp) continue;
    store<u32>(mark, stamp);
    const step = stepAt(spec, at);
    const op = step.op;
    if (op == PatternOp.MATCH) {
      leaveRun(search.best, acct);
      keepRun(rows);
      search.best = rows;
      search.hasBest = 1;
      return false;
    }
    if (op == PatternOp.JUMP) store<u32>(stack + ((depth++ as usize) << 2), step.a);
    else if (op == PatternOp.SPLIT) {
      store<u32>(stack + ((depth++ as usize) << 2), step.b);
      store<u32>(stack + ((depth++ as usize) << 2), step.a);
    } else {
      keepRun(rows);
      if (!add(state, at, rows)) isOutOfMemory = true;
    }
  }
  return true;
}

function add(state: PatternState, step: u32, rows: Run): bool {
  if (nextCount == state.nextRoom && !roomForNext(state)) return false;
  const partial = changetype<Partial>(state.next + ((<usize>nextCount) << 3));
  partial.step = step;
  partial.rows = rows;
  nextCount++;
  return true;
}

const FIRST_NEXT: u32 = 64;

function roomForNext(state: PatternState): bool {
  const room = state.nextRoom;
  const wanted = max(room << 1, FIRST_NEXT);
  const made: usize = wanted > 1 << 26 ? 0 : alloc(wanted << 3, state.rows.account);
  if (!made) return false;
  memory.copy(made, state.next, (<usize>room) << 3);
  free(state.next, room << 3, state.rows.account);
  state.next = made;
  state.nextRoom = wanted;
  return true;
}

/** Ends the searches that are decided: those without partial matches. */
function settle(node: Node, spec: PatternSpec, partition: Partition, ms: f64): void {
  const acct = accountOf(node);
  isDecided = false;
  let before = changetype<Search>(0);
  for (let search = partition.search; search && !isExhausted(node); ) {
    const next = search.next;
    if (search.count) before = search;
    else {
      const isMatch = search.hasBest != 0;
      if (isMatch) found(node, spec, partition, search, ms);
      else noMatch(node, spec, partition, search.start, ms);
      if (!isMatch && spec.skip != PatternSkip.NEXT) partition.begin = search.start + 1;
      dropSearch(partition, before, search, acct);
    }
    search = next;
  }
  if (partition.waiting) sendWaiting(node, spec, partition, ms, false);
}

/** Sends the match of a search, and sets where the next one begins. */
function found(node: Node, spec: PatternSpec, partition: Partition, search: Search, ms: f64): void {
  const best = search.best;
  const start = search.start;
  const end = best ? best.end : start;
  partition.matches++;
  cover(node, spec, partition, start, end);
  deliver(node, spec, partition, best, start, ms);
  if (spec.skip == PatternSkip.NEXT) return;
  if (!best) {
    partition.begin = start + 1;
    return;
  }
  if (spec.skip == PatternSkip.PAST_LAST) {
    partition.begin = end;
    return;
  }
  let row: u32 = start;
  let isFound = false;
  for (let run = best; run; run = run.previous) {
    if (!((spec.skipTo >> (run.variable & ~EXCLUDED)) & 1)) continue;
    isFound = true;
    row = spec.skip == PatternSkip.LAST ? run.end - 1 : run.previous ? run.previous.end : start;
    if (spec.skip == PatternSkip.LAST) break;
  }
  if (!isFound || row == start) {
    skipFails(node, isFound);
    row = start + 1;
  }
  partition.begin = row;
}

/** There are too many partial matches: the oldest search goes, or the node is given up, as the option says. */
function tooMany(node: Node, spec: PatternSpec, partition: Partition): void {
  const error = plainError('a key has more partial matches than maxPartialMatches allows');
  if (!(spec.flags & PatternFlag.DROPS_OLDEST)) {
    giveUp(node, offOf(error), lenOf(error));
    return;
  }
  const state = changetype<PatternState>(node.state);
  while (partition.partials > spec.most && partition.search) {
    const search = partition.search;
    const start = search.start;
    dropSearch(partition, changetype<Search>(0), search, accountOf(node));
    state.dropped++;
    addException(node, offOf(error), lenOf(error), 1);
    if (spec.skip != PatternSkip.NEXT) partition.begin = start + 1;
  }
}

// ---- time --------------------------------------------------------------------------------------------------------

/** Notes when the first search of the partition becomes final without a row; `order` as for `setDue`. */
function plan(node: Node, spec: PatternSpec, state: PatternState, partition: Partition, order: u32): void {
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

/** Sets the deadline of the node in processing time, where the clock says when searches become final. */
export function awaitDue(node: Node): void {
  if (specOf(node).flags & PatternFlag.EVENT_TIME) return;
  const next = firstDue(changetype<PatternState>(node.state));
  if (!next) clearDeadline(node);
  // The bound itself belongs to the match.
  else if (!setDeadline(node, next.due + 1)) exhaust(node);
}

/** Infinity where a row has come by `ms` that the search has not taken: its condition waits for those behind it. */
// @ts-ignore: decorator
@inline function unlessHeldBack(spec: PatternSpec, partition: Partition, search: Search, ms: f64): f64 {
  if (!spec.ahead || search.at == endOf(partition) || timeOf(partition, search.at) > ms) return ms;
  return Infinity;
}

/** When the search takes no more rows because the last of them would be too late. */
// @ts-ignore: decorator
@inline function boundOf(spec: PatternSpec, partition: Partition, search: Search): f64 {
  if (!(spec.within > 0)) return Infinity;
  return unlessHeldBack(spec, partition, search, timeOf(partition, search.start) + spec.within);
}

/** When it is known that no row has come that a partial match at the end waits not to come. */
// @ts-ignore: decorator
@inline function absentAt(spec: PatternSpec, partition: Partition, search: Search, rows: Run): f64 {
  return unlessHeldBack(spec, partition, search, timeOf(partition, rows.end - 1) + spec.absentMs);
}

/** When a search becomes final, or comes nearer to that, without a row. */
function dueOf(spec: PatternSpec, partition: Partition, search: Search): f64 {
  const bound = boundOf(spec, partition, search);
  if (!(spec.absentMs > 0)) return bound;
  let due: f64 = Infinity;
  let takesRows = false;
  for (let i: u32 = 0; i < search.count; i++) {
    const partial = partialAt(search, i);
    if (stepAt(spec, partial.step).op != PatternOp.ABSENT) takesRows = true;
    else due = min(due, absentAt(spec, partition, search, partial.rows));
  }
  return takesRows ? min(due, bound) : due;
}

/** No row comes any more in the partition: partial matches that wait for one end, all else is final. */
export function finish(node: Node, partition: Partition, ms: f64): void {
  const spec = specOf(node);
  const state = changetype<PatternState>(node.state);
  const acct = accountOf(node);
  do {
    for (let search = partition.search; search && !isExhausted(node); search = search.next) {
      const count = search.count;
      nextCount = 0;
      isOutOfMemory = false;
      state.stamp++;
      let isCut = false;
      for (let i: u32 = 0; i < count; i++) {
        const partial = partialAt(search, i);
        if (isCut || stepAt(spec, partial.step).op != PatternOp.ABSENT) leaveRun(partial.rows, acct);
        else isCut = !follow(spec, state, search, partial.step + 1, partial.rows, acct);
      }
      partition.partials -= count;
      search.count = 0;
    }
    settle(node, spec, partition, ms);
    advance(node, partition, ms);
  } while (partition.search && !isExhausted(node));
  sendWaiting(node, spec, partition, ms, true);
}

/** Time has gone beyond `due`, the first deadline of the partition. */
export function expire(node: Node, partition: Partition): void {
  const spec = specOf(node);
  const state = changetype<PatternState>(node.state);
  const acct = accountOf(node);
  const ms = partition.due;
  for (let search = partition.search; search && !isExhausted(node); search = search.next) {
    if (dueOf(spec, partition, search) > ms) continue;
    const isLate = boundOf(spec, partition, search) <= ms;
    const count = search.count;
    nextCount = 0;
    isOutOfMemory = false;
    state.stamp++;
    let isCut = false;
    for (let i: u32 = 0; i < count; i++) {
      const partial = partialAt(search, i);
      const rows = partial.rows;
      const isAbsent = stepAt(spec, partial.step).op == PatternOp.ABSENT;
      if (isCut) leaveRun(rows, acct);
      else if (!isAbsent) {
        if (isLate) leaveRun(rows, acct);
        else stay(state, partial);
      } else if (absentAt(spec, partition, search, rows) <= ms) {
        isCut = !follow(spec, state, search, partial.step + 1, rows, acct);
      } else stay(state, partial);
    }
    partition.partials -= search.count;
    search.count = 0;
    if (isOutOfMemory || !setPartials(partition, search, state.next, nextCount, acct)) exhaust(node);
  }
  settle(node, spec, partition, ms);
  advance(node, partition, ms);
}
