// Who keeps the kernel busy. The host asks when a piece of work took long: its time is divided among nodes, each part
// is booked on one of them.
//
// Functions of the host are measured one by one, a column of them takes longer than two looks at the clock, and ticks
// too. All other work is booked on the source or the node at a root that did it. Clocks cost more than the work of a
// small batch, so the clock is read only when operators have worked on many rows, or computed long values, since it was
// read last.
import * as ctx from '../batch/context';
import { hostClock, hostTick } from '../batch/host';
import { current, recordsIn } from './node';
import { Node } from '../gen/node-layouts';

/** Rows of work worth a look at the clock: a millisecond or so. */
const LOOK_AFTER: u32 = 100000;
/** A function of the host that took so long is worth one, µs. */
const LONG_HOST_US: f64 = 1000;

/** Number of the piece of work that the host has under way; it may be several calls of the kernel. */
let work: u32 = 1;
let since: f64 = 0;
/** Time since then that is booked already, µs. */
let booked: f64 = 0;
/** Rows are counted once for each batch of a node. */
let lastNode: Node = changetype<Node>(0);
let lastIn: u64 = 0;

/** A piece of work of the host begins: what was booked for the one before is forgotten. */
export function beginWork(): void {
  work++;
}

/** A call of the host begins. */
export function longestBegin(): void {
  lastNode = changetype<Node>(0);
  ctx.resetWork();
  longestFrom(hostClock());
}

/** What is booked next began at `now`. */
export function longestFrom(now: f64): void {
  since = now;
  booked = 0;
}

/** A source, or a node at a root, has worked on `rows`. */
// @ts-ignore: decorator
@inline export function longestNote(at: Node, rows: u32): void {
  if (ctx.worked >= LOOK_AFTER) look(at, rows);
}

function look(at: Node, rows: u32): void {
  ctx.resetWork();
  // A call with thousands of rules may be long; whoever waits for it sees that it goes from one to the next.
  hostTick(0);
  longestUntil(at, hostClock(), rows);
}

/** What was done until `now` and is not booked was the node's. */
export function longestUntil(at: Node, now: f64, rows: u32): void {
  book(at, max(0, now - since - booked), rows);
  longestFrom(now);
}

/** A function of the host took so many microseconds for the node at work. */
export function longestHost(us: f64, rows: u32): void {
  if (!current) return;
  book(current, us, rows);
  current.workHost += <u32>us;
  booked += us;
  // As much as many rows.
  if (us > LONG_HOST_US) ctx.addWork(LOOK_AFTER);
}

function book(at: Node, us: f64, rows: u32): void {
  if (at.work != work) {
    at.work = work;
    at.workUs = 0;
    at.workRows = 0;
    at.workHost = 0;
  }
  at.workUs += us;
  const taken = recordsIn(at);
  if (at == lastNode && taken == lastIn) return;
  lastNode = at;
  lastIn = taken;
  at.workRows += rows;
}

/** What the node took of the work, µs. */
export function timeInWork(node: Node): f64 {
  return node.work == work ? node.workUs : 0;
}
