// The search for matches in the rows of a partition. A search takes one row after the other: each of its partial
// matches, the preferred one first, goes on by the row or ends (pattern/turn.ts). It is decided when a match was found
// that no other partial match is preferred to, or when none is left. Then the match is sent, and the next search begins
// where SKIP says. With SKIP TO NEXT ROW a search begins with each row, and all of them take rows together.
//
// A row is taken as soon as it has come, unless a condition that is asked looks at rows behind it: of another variable
// than those of `waits`, all is known.
import * as ctx from '../batch/context';
import { accountOf, addException, exhaust, giveUp, isExhausted } from '../node/node';
import { goesOn, mayDefer } from '../node/deferred';
import { lenOf, offOf } from '../mem/layout';
import { plainError } from '../value/error';
import { Node } from '../gen/node-layouts';
import { PatternFlag, PatternSkip, PatternSpec } from '../gen/pattern-layouts';
import { judge } from './judge';
import { skipFails } from './send';
import { specOf, stepAt } from './spec';
import {
  Partial,
  Partition,
  PatternState,
  Search,
  addSearch,
  clearPartials,
  dropSearch,
  hasBest,
  partialsOf,
  refAt,
  timeOf,
} from './state';
import { boundOf, dueOf, plan } from './time';
import { isDecided, noteDecided, turnAtEnd, turnBegins, turnByRow, turnByTime, turnOfOne } from './turn';
import { cover, deliver, noMatch, sendWaiting } from './waiting';

/** Searches must not stop for others to have their turn. */
export let isWhole: bool = false;

export function setWhole(whole: bool): void {
  isWhole = whole;
}

/**
 * False when others have their turn first. Where a condition has failed none have it: the reason is told once, when all
 * is done, and its text goes with the batch.
 */
// @ts-ignore: decorator
@inline function mayGoOn(node: Node): bool {
  return isWhole || !mayDefer(node) || changetype<PatternState>(node.state).error != 0 || goesOn(1);
}

/**
 * Takes the rows of a partition that may be taken; what becomes final does so at `ms`. False when there is more to do,
 * which is left for later: `goOn` takes it up.
 */
export function advance(node: Node, partition: Partition, ms: f64): bool {
  const spec = specOf(node);
  const state = changetype<PatternState>(node.state);
  while (!isExhausted(node)) {
    if (spec.skip == PatternSkip.NEXT) {
      const row = partition.search ? partition.search.at : partition.begin;
      const begins = row == partition.begin;
      if (row == partition.arrived || mustWait(spec, partition, row, begins)) break;
      if (begins) begin(node, spec, state, partition, ms);
      if (partition.search && partition.search.at == row) {
        if (begins && mustWait(spec, partition, row, false)) {
          if (isDecided && !settle(node, spec, partition, ms)) return false;
          break;
        }
        takeRow(node, spec, state, partition, row);
      }
    } else {
      if (!partition.search) {
        if (partition.begin == partition.arrived || mustWait(spec, partition, partition.begin, true)) break;
        begin(node, spec, state, partition, ms);
      }
      const search = partition.search;
      if (!search) continue;
      // What is decided without a row, as an empty match, waits for none.
      if (search.count) {
        if (search.at == partition.arrived || mustWait(spec, partition, search.at, false)) break;
        takeRow(node, spec, state, partition, search.at);
      }
    }
    if ((isDecided || partition.waiting) && !settle(node, spec, partition, ms)) return false;
    if (!mayGoOn(node)) return false;
  }
  plan(node, spec, state, partition, 0);
  return true;
}

/** Goes on where `advance` was left. */
export function goOn(node: Node, partition: Partition, ms: f64): bool {
  return settle(node, specOf(node), partition, ms) && advance(node, partition, ms);
}

/** True while a condition that is asked of the row looks at rows to come; `begins`: a search begins there. */
function mustWait(spec: PatternSpec, partition: Partition, row: u32, begins: bool): bool {
  if (<i32>(row - partition.limit) < 0) return false;
  const waits = spec.waits;
  if (begins && spec.first & waits) return true;
  for (let search = partition.search; search && search.at == row; search = search.next) {
    const partials = partialsOf(search);
    for (let i: u32 = 0; i < search.count; i++) {
      const step = stepAt(spec, changetype<Partial>(partials + ((<usize>i) << 3)).step);
      if ((waits >> step.a) & 1) return true;
    }
  }
  return false;
}

/** Begins a search with the next row, unless no match can begin there. */
function begin(node: Node, spec: PatternSpec, state: PatternState, partition: Partition, ms: f64): void {
  const start = partition.begin++;
  const first = spec.first;
  if (first && !(refAt(partition, start).bits & first)) {
    noMatch(node, spec, partition, start, ms);
    return;
  }
  const search = addSearch(partition, start, accountOf(node));
  if (search) turnBegins(node, spec, state, partition, search);
  else exhaust(node);
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
    if (count != 1 || !turnOfOne(node, spec, partition, search, row, time, bits, first)) {
      turnByRow(node, spec, state, partition, search, row, time, first);
    }
    first += count;
    if (isExhausted(node)) return;
  }
  if (partition.partials > spec.most) tooMany(node, spec, partition);
}

/** Ends the searches that are decided: those without partial matches. False when some are left for later. */
function settle(node: Node, spec: PatternSpec, partition: Partition, ms: f64): bool {
  const acct = accountOf(node);
  noteDecided(false);
  let before = changetype<Search>(0);
  for (let search = partition.search; search && !isExhausted(node); ) {
    const next = search.next;
    if (search.count) before = search;
    else {
      const isMatch = hasBest(search);
      if (isMatch) found(node, spec, partition, search, ms);
      else noMatch(node, spec, partition, search.start, ms);
      if (!isMatch && spec.skip != PatternSkip.NEXT) partition.begin = search.start + 1;
      dropSearch(partition, before, search, acct);
      if (next && !mayGoOn(node)) return false;
    }
    search = next;
  }
  if (partition.waiting) sendWaiting(node, spec, partition, ms, false);
  return true;
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
    if (!((spec.skipTo >> run.variable) & 1)) continue;
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

/**
 * There are too many partial matches: those of the oldest search go, or the node is given up, as the option says.
 * A match that a search has found by then is sent.
 */
function tooMany(node: Node, spec: PatternSpec, partition: Partition): void {
  const error = plainError('a key has more partial matches than maxPartialMatches allows');
  if (!(spec.flags & PatternFlag.DROPS_OLDEST)) {
    giveUp(node, offOf(error), lenOf(error));
    return;
  }
  const state = changetype<PatternState>(node.state);
  let before = changetype<Search>(0);
  for (let search = partition.search; search && partition.partials > spec.most; ) {
    const next = search.next;
    if (search.count) {
      state.dropped++;
      addException(node, offOf(error), lenOf(error), 1);
    }
    if (hasBest(search)) {
      clearPartials(partition, search, accountOf(node));
      noteDecided(true);
      before = search;
    } else if (search.count) {
      if (spec.skip != PatternSkip.NEXT) partition.begin = search.start + 1;
      dropSearch(partition, before, search, accountOf(node));
    } else before = search;
    search = next;
  }
}

// ---- without a row -----------------------------------------------------------------------------------------------

/** No row comes any more in the partition: partial matches that wait for one end, all else is final. */
export function finish(node: Node, partition: Partition, ms: f64): void {
  const spec = specOf(node);
  const state = changetype<PatternState>(node.state);
  isWhole = true;
  do {
    for (let search = partition.search; search && !isExhausted(node); search = search.next) {
      turnAtEnd(node, spec, state, partition, search);
    }
    goOn(node, partition, ms);
  } while (partition.search && !isExhausted(node));
  isWhole = false;
  sendWaiting(node, spec, partition, ms, true);
}

/** Time has gone beyond `due`, the first deadline of the partition. False as for `advance`. */
export function expire(node: Node, partition: Partition): bool {
  const spec = specOf(node);
  const state = changetype<PatternState>(node.state);
  const ms = partition.due;
  for (let search = partition.search; search && !isExhausted(node); search = search.next) {
    if (dueOf(spec, partition, search) > ms) continue;
    turnByTime(node, spec, state, partition, search, ms, boundOf(spec, partition, search) <= ms);
  }
  return goOn(node, partition, ms);
}
