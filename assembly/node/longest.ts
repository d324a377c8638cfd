// The nodes that keep the kernel busy. The host asks for them when a piece of work took long: its time is divided among
// nodes, each part is booked on one of them.
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
/** Time of a host call that makes the clock be read soon, µs. */
const LONG_HOST_US: f64 = 1000;

/** Number of the piece of work that the host has under way; it may be several calls of the kernel. */
let work: u32 = 1;
let since: f64 = 0;
/** Time since `since` that is booked already, µs. */
let booked: f64 = 0;
/** Node that was booked last, and the rows it had taken then: a batch of a node is counted once. */
let lastNode: Node = changetype<Node>(0);
let lastIn: u64 = 0;

/** Begins a piece of work of the host, and forgets the times booked for the one before. */
export function beginWork(): void {
  work++;
}

/** A call of the host begins. */
export function longestBegin(): void {
  lastNode = changetype<Node>(0);
  ctx.resetWork();
  longestFrom(hostClock());
}

/** Sets `now` (µs) as the start of the time that is booked next; none of it is booked yet. */
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

/** Books the time until `now` (µs) that is not booked yet on the node, and begins anew at `now`. */
export function longestUntil(at: Node, now: f64, rows: u32): void {
  book(at, max(0, now - since - booked), rows);
  longestFrom(now);
}

/** Books `us` microseconds of a host call over `rows` rows on the node at work. */
export function longestHost(us: f64, rows: u32): void {
  if (!current) return;
  book(current, us, rows);
  current.workHost += <u32>us;
  booked += us;
  // A long host call counts as many rows, so that the clock is read soon.
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

/** Time that the node took of the piece of work under way, µs. */
export function timeInWork(node: Node): f64 {
  return node.work == work ? node.workUs : 0;
}
