// Times of nodes: each batch in a sample, or every batch while monitoring asks for that, and every tick.
import { hostClock } from '../batch/host';
import { isMeasured, note } from './latency';
import { longestFrom, longestUntil } from './longest';
import { Node } from '../gen/node-layouts';

/** One batch in this many is timed; not the very first ones, which run before the code is optimised. */
const SAMPLE_EVERY: u32 = 64;
/**
 * Time after which a batch is timed in any case, µs; only while `sampleOften` asks for it, for large and rare batches.
 */
const SAMPLE_AFTER_US: f64 = 4000;
/**
 * Time for which each node of a timed batch keeps the next such batch away, µs: fifty times what two looks at the clock
 * take. Messages that thousands of nodes take one by one would pay more for their times than for their work.
 */
const AFTER_NODE_US: f64 = 10;
/** Nodes that the timed batch under way, or the last one, went to. */
let timedNodes: u32 = 0;
let isOften: bool = false;
let sampledAt: f64 = 0;
/** Batches since the last one that was timed. */
let sampleCount: u32 = 31;
/** True when the batch, or tick, under way is timed. */
export let isSampled: bool = false;
/** Number of batches that the timed one stands for. */
let sampleWeight: f64 = 1;
/** Time spent in the children of the node at work, microseconds; only in a timed batch. */
let childrenUs: f64 = 0;

/** Decides whether the batch that begins is timed. */
export function nextSample(): void {
  sampleCount++;
  isSampled = isMeasured || sampleCount >= SAMPLE_EVERY || (isOften && isSampleDue());
  childrenUs = 0;
  if (!isSampled) return;
  sampleWeight = isMeasured ? 1 : sampleCount;
  sampleCount = 0;
  timedNodes = 0;
}

function isSampleDue(): bool {
  // A look at the clock takes about as long as a row of a small batch.
  if (sampleCount & 3) return false;
  const now = hostClock();
  if (now - sampledAt < Math.max(SAMPLE_AFTER_US, <f64>timedNodes * AFTER_NODE_US)) return false;
  sampledAt = now;
  return true;
}

/** Whether batches are timed after a while, too, however few there were. */
export function sampleOften(isOn: bool): void {
  isOften = isOn;
}

/**
 * Begins the tick of a node; returns the time. Ticks are rare and differ in size: each is timed, and stands for itself.
 */
export function beginTick(): f64 {
  isSampled = true;
  sampleWeight = 1;
  childrenUs = 0;
  const now = hostClock();
  longestFrom(now);
  return now;
}

/** Ends the tick of a node that began at `start`. */
export function endTick(node: Node, start: f64): void {
  const now = hostClock();
  const took = now - start;
  charge(node, took);
  longestUntil(node, now, 0);
  isSampled = false;
  let root = node;
  while (root.parent) root = root.parent;
  root.tick += took;
}

/**
 * Begins timing a node; returns the time spent so far in the children of the node above, which `endTimed` wants back.
 */
export function beginTimed(): f64 {
  const outer = childrenUs;
  childrenUs = 0;
  return outer;
}

/** Ends timing a node that began at `start`. */
export function endTimed(node: Node, start: f64, outer: f64): void {
  const took = hostClock() - start;
  timedNodes++;
  charge(node, took);
  childrenUs = outer + took;
}

/** Books the time of a node in a timed batch, without the time of its children. */
function charge(node: Node, took: f64): void {
  const own = took - childrenUs;
  node.busy += own * sampleWeight;
  if (isMeasured) note(node, own);
}

/** Books the time since `start` that a root took to read its input; only where every batch is timed. */
export function chargeRoot(root: Node, start: f64): void {
  const took = hostClock() - start;
  root.busy += took;
  note(root, took);
}
