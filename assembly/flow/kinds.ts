// What each kind of operator does with a batch, with the begin and end of a message, with a timer and when it is freed.
// Adding a kind: a file of its own and one line in each switch.

/** Gives the current batch to the operator. */
export function pushTo(node: usize): void {}

/** Tells the operator that a message begins. */
export function beginOf(node: usize): void {}

/** Tells the operator that the message ends; see `endMessage`. */
export function endOf(node: usize, failedOff: usize, failedLen: u32): void {}
