// What a snapshot leaves to later (rows/snapshot.ts, agg/save/walk.ts) has a number, by which the parts of nodes name
// it.

let next: u32 = 0;

/** The next number is this one. */
export function partNumbersBegin(number: u32): void {
  next = number;
}

/** Number of something that is new to the chain of snapshots. */
export function newPartNumber(): u32 {
  return next++;
}

/** The number that the next one will have. */
export function nextPartNumber(): u32 {
  return next;
}
