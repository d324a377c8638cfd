// The time at which a join with many pairs stops, so that others come to their turn.
import { goesOn } from '../../node/deferred';

/** Batches of pairs and of results since the join began, and their number at the last look. */
let batches: u32 = 0;
let seen: u32 = 0;
let mayPause: bool = false;

/** Begins a piece of work of a join, which may stop in between only with `isAllowed`. */
export function pauseBegin(isAllowed: bool): void {
  seen = batches;
  mayPause = isAllowed;
}

/** Notes that a batch is done. */
// @ts-ignore: decorator
@inline export function noteBatch(): void {
  batches++;
}

/** True when the join is to stop. */
// @ts-ignore: decorator
@inline export function isPaused(): bool {
  return batches != seen && look();
}

function look(): bool {
  const rows = (batches - seen) << 10;
  seen = batches;
  return mayPause && !goesOn(rows);
}
