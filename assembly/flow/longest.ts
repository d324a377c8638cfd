// Who keeps the kernel busy. The host asks when a call took long: which node at the roots (or which timer) took the most of it.
// Clocks cost more than the work of a small batch, so the clock is read only after a node at a root when operators have worked
// on many rows since it was read last; what was not enough to read it does not make a call long.
import * as ctx from './context';
import { hostClock } from './host';
import { N_CALL, N_CALL_ROWS, N_CALL_US } from './node';

/** Rows of work worth a look at the clock: a millisecond or so. */
const LOOK_AFTER: u32 = 100000;

let call: u32 = 0;
let since: f64 = 0;
let node: usize = 0;

/** A call of the host begins. */
export function longestBegin(): void {
  call++;
  node = 0;
  ctx.resetWork();
  since = hostClock();
}

/** A node at a root has returned, which was given `rows`. */
// @ts-ignore: decorator
@inline export function longestNote(at: usize, rows: u32): void {
  if (ctx.worked >= LOOK_AFTER) look(at, rows);
}

function look(at: usize, rows: u32): void {
  ctx.resetWork();
  const now = hostClock();
  longestAdd(at, now - since, rows);
  since = now;
}

/** The node took so many microseconds of the call. */
export function longestAdd(at: usize, us: f64, rows: u32): void {
  if (load<u32>(at, N_CALL) != call) {
    store<u32>(at, call, N_CALL);
    store<f64>(at, 0, N_CALL_US);
    store<u32>(at, 0, N_CALL_ROWS);
  }
  store<f64>(at, load<f64>(at, N_CALL_US) + us, N_CALL_US);
  store<u32>(at, load<u32>(at, N_CALL_ROWS) + rows, N_CALL_ROWS);
  if (!node || load<f64>(at, N_CALL_US) > load<f64>(node, N_CALL_US)) node = at;
}

/** The node that took the most of the last call; 0 when no node took much. */
export function longestNode(): usize {
  return node;
}
