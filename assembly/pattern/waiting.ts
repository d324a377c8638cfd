// What is known but can't be sent yet: matches whose measures look at rows that have not come, and rows with which no
// match began, while a search that began before them may still take them.
import { accountOf, exhaust, isExhausted } from '../node/node';
import { Node } from '../gen/node-layouts';
import { PatternRows, PatternSkip, PatternSpec } from '../gen/pattern-layouts';
import { lookFurthest } from './look';
import { lookAtRuns, lookBegin, lookFrom } from './match';
import { sendMatch, sendUnmatched } from './send';
import { Part, programAt } from './spec';
import { Partition, PatternState, Run, Wait, Waiting, addWaiting, dropWaiting, keepRun } from './state';

/** Sends a match, 0: an empty one, as soon as the rows are there that its measures look at. */
export function deliver(node: Node, spec: PatternSpec, partition: Partition, best: Run, start: u32, ms: f64): void {
  const number = partition.matches;
  const acct = accountOf(node);
  const end = best ? best.end : start;
  let need = end;
  if (spec.after && best) {
    lookBegin(spec, changetype<PatternState>(node.state), partition);
    lookAtRuns(best, start);
    lookFrom(start, end, number, ms);
    need = lookFurthest(programAt(spec, Part.MEASURES), end);
  }
  if (<i32>(need - partition.arrived) <= 0) {
    sendMatch(node, spec, partition, best, start, number, ms);
    return;
  }
  const one = addWaiting(partition, start, Wait.MATCH, need, acct);
  if (!one) {
    exhaust(node);
    return;
  }
  keepRun(best);
  one.best = best;
  one.number = number;
}

/** True where searches are decided in another order than that of their rows, and rows without a match are wanted. */
// @ts-ignore: decorator
@inline function isDecidedLater(spec: PatternSpec): bool {
  return spec.skip == PatternSkip.NEXT && spec.rows == PatternRows.WITH_UNMATCHED;
}

/** Notes that a match has the rows from `start` to `end`. */
export function cover(node: Node, spec: PatternSpec, partition: Partition, start: u32, end: u32): void {
  if (!isDecidedLater(spec)) setCovered(partition, end);
  else if (!addWaiting(partition, start, Wait.COVER, end, accountOf(node))) exhaust(node);
}

// @ts-ignore: decorator
@inline function setCovered(partition: Partition, end: u32): void {
  if (<i32>(end - partition.covered) > 0) partition.covered = end;
}

/** No match begins with the row. It is sent where that is wanted, unless a match has it. */
export function noMatch(node: Node, spec: PatternSpec, partition: Partition, row: u32, ms: f64): void {
  if (spec.rows != PatternRows.WITH_UNMATCHED) return;
  if (!isDecidedLater(spec)) sendUncovered(node, spec, partition, row, ms);
  else if (!addWaiting(partition, row, Wait.ROW, row, accountOf(node))) exhaust(node);
}

function sendUncovered(node: Node, spec: PatternSpec, partition: Partition, row: u32, ms: f64): void {
  if (<i32>(row - partition.covered) >= 0) sendUnmatched(node, spec, partition, row, ms);
}

/** True while a search that began before the row goes on. */
// @ts-ignore: decorator
@inline function isOpenBefore(partition: Partition, row: u32): bool {
  return !!partition.search && <i32>(partition.search.start - row) < 0;
}

/** Sends what waits no more; all of it when no row comes any more. */
export function sendWaiting(node: Node, spec: PatternSpec, partition: Partition, ms: f64, isOver: bool): void {
  const seen = partition.arrived;
  let before = changetype<Waiting>(0);
  for (let one = partition.waiting; one && !isExhausted(node); ) {
    const next = one.next;
    const row = one.start;
    const kind = one.kind;
    if (kind == Wait.MATCH ? !isOver && <i32>(one.need - seen) > 0 : isOpenBefore(partition, row)) before = one;
    else {
      if (kind == Wait.MATCH) sendMatch(node, spec, partition, one.best, row, one.number, ms);
      else if (kind == Wait.COVER) setCovered(partition, one.need);
      else sendUncovered(node, spec, partition, row, ms);
      dropWaiting(partition, before, one, accountOf(node));
    }
    one = next;
  }
}
