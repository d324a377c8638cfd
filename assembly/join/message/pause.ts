// When a join with many pairs is to stop, so that others come to their turn.
import { goesOn } from '../../node/deferred';

/** Batches of pairs and of results since the join began, and those at the last look. */
let batches: u32 = 0;
let seen: u32 = 0;
let mayPause: bool = false;

/** A join begins its work, or goes on with it; one that may not stop never does. */
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
