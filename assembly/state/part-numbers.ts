// Numbers of pages and sets that a snapshot writes later (rows/snapshot.ts, agg/save/walk.ts); the parts of nodes refer
// to them by these numbers.

let next: u32 = 0;

/** Sets the next number. */
export function partNumbersBegin(number: u32): void {
  next = number;
}

/** A new number, for a page or set that is new to the chain of snapshots. */
export function newPartNumber(): u32 {
  return next++;
}

/** The next new number. */
export function nextPartNumber(): u32 {
  return next;
}
