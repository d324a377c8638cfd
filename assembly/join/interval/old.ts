// Keys and rows of an interval join that time has left behind.
import { isExhausted } from '../../node/node';
import { NO_ROW, addPair, isTired, noteWorked, pairsTidy } from './pairs';
import { dropEmpty, sideCount, sideDone, sideOf, timeOf, workOff, workOffOld } from './state';
import { IntervalSpec } from '../../gen/join-layouts';
import { Node } from '../../gen/node-layouts';
import { PartitionTable } from '../../partitions/table-slots';

/** True when the last call was stopped, and has to go on later. */
export let isStopped: bool = false;

/**
 * Works off the rows that can meet no row at `ms` or later, in the order in which that is certain. Returns the time
 * after which the next row can be worked off, Infinity when there is none. The work may be stopped (`isStopped`).
 */
export function workOffBefore(node: Node, spec: IntervalSpec, state: PartitionTable, ms: f64): f64 {
  const lefts = sideOf(changetype<usize>(state), false);
  const rights = sideOf(changetype<usize>(state), true);
  const leftWaits = max<f64>(spec.most, 0);
  const rightWaits = max<f64>(-spec.least, 0);
  const keepsLeft = spec.keepsLeft != 0;
  const keepsRight = spec.keepsRight != 0;
  while (true) {
    const left = sideDone(lefts);
    const right = sideDone(rights);
    const leftMs: f64 = left < sideCount(lefts) ? timeOf(lefts, left) + leftWaits : Infinity;
    const rightMs: f64 = right < sideCount(rights) ? timeOf(rights, right) + rightWaits : Infinity;
    const isRight = rightMs < leftMs;
    const end = isRight ? rightMs : leftMs;
    // Both ends are Infinity when no row is left.
    if (!(end < ms) || end == Infinity) {
      isStopped = false;
      return end;
    }
    noteWorked();
    workOff(state, isRight ? rights : lefts, isRight);
    if (isRight ? keepsRight : keepsLeft) {
      addPair(isRight ? NO_ROW : left, isRight ? right : NO_ROW, end);
      if (isExhausted(node)) {
        isStopped = false;
        return end;
      }
    }
    pairsTidy();
    // Rows that were sent may have brought other joins to work.
    isStopped = isTired();
    if (isStopped) return -Infinity;
  }
}

/** Drops keys that have no rows any more; false when it was stopped. */
export function keysGo(state: PartitionTable, acct: usize): bool {
  while (dropEmpty(state, acct)) {
    noteWorked();
    if (isTired()) return false;
  }
  return true;
}

/**
 * Works off rows that are too old for the last row of the batch, where rows do not go on alone; false when it was
 * stopped.
 */
export function oldGo(spec: IntervalSpec, state: PartitionTable, last: f64): bool {
  const leftWaits = max<f64>(spec.most, 0);
  const rightWaits = max<f64>(-spec.least, 0);
  while (workOffOld(state, sideOf(changetype<usize>(state), false), false, leftWaits, last)) {
    noteWorked();
    if (isTired()) return false;
  }
  while (workOffOld(state, sideOf(changetype<usize>(state), true), true, rightWaits, last)) {
    noteWorked();
    if (isTired()) return false;
  }
  return true;
}
