// The functions of each kind of operator, one record for each kind. Batches, signals and timers reach a node through
// the functions of its kind, called by their number in the function table. The doc of each function says what holds
// when a kind leaves it out. The records are filled in by tree/gen/kinds.ts when the kernel starts.
//
//   record (48 bytes)   open u32 | push u32 | signal u32 | tick u32 | save u32 | load u32 | free u32 | setBack u32 |
//                       pushEach u32 | deferred u32 | results u32 | traits u32

/** Signals that travel to a node besides rows, each with a value of 64 bits. */
import { Node } from '../gen/node-layouts';
export namespace Signal {
  /** A message begins: all batches until END are rows of it. */
  export const BEGIN: u32 = 1;
  /** The message ends. If there is an address in the value, it is the span of an error text that takes its place. */
  export const END: u32 = 2;
  /** No row older than the value (epoch ms, the bits of an f64) will come any more. */
  export const WATERMARK: u32 = 3;
  /** Rows that were gathered only to save messages are to be sent now. */
  export const FLUSH: u32 = 4;
  /** The input is idle: until its next watermark, rows from elsewhere need not wait for its rows. */
  export const IDLE: u32 = 5;
  /** Rows begin to come, the first of them with the time of the value (epoch ms, the bits of an f64). */
  export const START: u32 = 6;
}

/** Properties of a kind that other nodes must know, as bits. */
export namespace Trait {
  /** Keeps its rows while a node below has deferred work. */
  export const BUFFERS: u32 = 1;
  /** Sends messages of its own, and keeps what it sends until it has sent the end of the message. */
  export const KEEPS_MESSAGES: u32 = 2;
  /** Passes on the columns of its input as they are. */
  export const KEEPS_COLUMNS: u32 = 4;
  /** Sends rows in the order of their times, as time reaches them. */
  export const ORDERS_BY_TIME: u32 = 8;
  /** Makes rows of its own; the times and ties of its input do not hold below it. */
  export const MAKES_ROWS: u32 = 16;
  /** Leads to a child that has another place in a tree, and gets rows of other nodes as well. */
  export const LEADS_ELSEWHERE: u32 = 32;
  /** Fills a table with the rows that come from a port. */
  export const FILLS_TABLES: u32 = 64;
  /**
   * Sends at times of its own, or would have to be stopped by the node that gets its rows. Nodes below can't rely on
   * the window above to wait, so they defer nothing.
   */
  export const ENDS_DEFERRING: u32 = 128;
  /** A root that is no stream: rows of several streams meet there. */
  export const JOINS_STREAMS: u32 = 256;
}

const RECORD: u32 = 48;
const OPEN: usize = 0;
const PUSH: usize = 4;
const SIGNAL: usize = 8;
const TICK: usize = 12;
const SAVE: usize = 16;
const LOAD: usize = 20;
const FREE: usize = 24;
const SET_BACK: usize = 28;
const PUSH_EACH: usize = 32;
const DEFERRED: usize = 36;
const RESULTS: usize = 40;
const TRAITS: usize = 44;

/** Records of the kinds 0 … 31. */
const RECORDS: usize = memory.data(48 * 32, 16);

/** The record of a kind, as its file fills it in. */
// @ts-ignore: decorator
@unmanaged
export class Operator {
  /** Makes the state of a new node from its spec; false when memory is exhausted. Left out: a node without state. */
  set open(f: (node: Node) => bool) {
    store<u32>(changetype<usize>(this), f.index, OPEN);
  }

  /** Takes the current batch (batch/context.ts). Left out: passes it on. */
  set push(f: (node: Node) => void) {
    store<u32>(changetype<usize>(this), f.index, PUSH);
  }

  /**
   * Takes the current batch, each row of which is a message of its own and did not fail. Left out: the rows come to
   * `push`, each between the signals of its message.
   */
  set pushEach(f: (node: Node) => void) {
    store<u32>(changetype<usize>(this), f.index, PUSH_EACH);
  }

  /** Takes a signal, and passes on by `signalBelow` any that has no meaning for the kind. Left out: passes all on. */
  set signal(f: (node: Node, signal: u32, value: u64) => void) {
    store<u32>(changetype<usize>(this), f.index, SIGNAL);
  }

  /** The deadline of the node (node/timers.ts) has come. Left out: the kind sets none. */
  set tick(f: (node: Node) => void) {
    store<u32>(changetype<usize>(this), f.index, TICK);
  }

  /**
   * Writes the state of the node; it can't fail, as the host takes every slice. Left out: there is no state to save.
   */
  set save(f: (node: Node) => void) {
    store<u32>(changetype<usize>(this), f.index, SAVE);
  }

  /** Reads the state that `save` wrote into a new node; false when it does not fit. Left out: there is none to load. */
  set load(f: (node: Node) => bool) {
    store<u32>(changetype<usize>(this), f.index, LOAD);
  }

  /** Frees the state of the node. Left out: a node without state. */
  set free(f: (node: Node) => void) {
    store<u32>(changetype<usize>(this), f.index, FREE);
  }

  /**
   * Moves times by the clock that the node keeps `ms` back, because the clock was set back from ctx.nowMs. The deadline
   * has been moved before, and nothing is sent. Left out: the node keeps no such times.
   */
  set setBack(f: (node: Node, ms: f64) => void) {
    store<u32>(changetype<usize>(this), f.index, SET_BACK);
  }

  /**
   * Does a piece of the work that the node has deferred (node/deferred.ts); true when none is left. Left out: the kind
   * defers none.
   */
  set deferred(f: (node: Node) => bool) {
    store<u32>(changetype<usize>(this), f.index, DEFERRED);
  }

  /** How many results of the node, or batches of rows in it, wait, at most. Left out: none. */
  set results(f: (node: Node) => u32) {
    store<u32>(changetype<usize>(this), f.index, RESULTS);
  }

  /** The traits of the kind, bits of `Trait`. Left out: none. */
  set traits(bits: u32) {
    store<u32>(changetype<usize>(this), bits, TRAITS);
  }
}

/** The record of the kind with that number. */
export function operatorOf(kind: u32): Operator {
  return changetype<Operator>(RECORDS + kind * RECORD);
}

// @ts-ignore: decorator
@inline function entry(node: Node, field: usize): u32 {
  return load<u32>(RECORDS + node.kind * RECORD + field);
}

/** Number of the function that takes the node's batches, 0 none. */
// @ts-ignore: decorator
@inline export function pushOf(node: Node): u32 {
  return entry(node, PUSH);
}

/** Number of the function that takes batches of messages of one row each, 0 none. */
// @ts-ignore: decorator
@inline export function pushEachOf(node: Node): u32 {
  return entry(node, PUSH_EACH);
}

/** Number of the function that takes the node's signals, 0 none. */
// @ts-ignore: decorator
@inline export function signalOf(node: Node): u32 {
  return entry(node, SIGNAL);
}

/** Makes the state of a new node; false when memory is exhausted. */
export function openOf(node: Node): bool {
  const open = entry(node, OPEN);
  return !open || call_indirect<bool>(open, node);
}

/** Tells the node that its deadline has come. */
export function tickOf(node: Node): void {
  const tick = entry(node, TICK);
  if (tick) call_indirect<void>(tick, node);
}

/** Frees the state of a node. */
export function freeOf(node: Node): void {
  const free = entry(node, FREE);
  if (free) call_indirect<void>(free, node);
}

/** Tells the node that the clock was set back by `ms` milliseconds. */
export function setBackOf(node: Node, ms: f64): void {
  const setBack = entry(node, SET_BACK);
  if (setBack) call_indirect<void>(setBack, node, ms);
}

/** Does a piece of the node's deferred work; true when none is left. */
export function deferredOf(node: Node): bool {
  return call_indirect<bool>(entry(node, DEFERRED), node);
}

/** How many results wait to be sent in a node that has deferred work (node/deferred.ts), at most. */
export function deferredResults(node: Node): u32 {
  const results = entry(node, RESULTS);
  return results ? call_indirect<u32>(results, node) : 0;
}

/** True when the kind of the node has that trait. */
// @ts-ignore: decorator
@inline export function hasTrait(node: Node, trait: u32): bool {
  return (entry(node, TRAITS) & trait) != 0;
}

/** The nearest node above whose kind has that trait, 0 none. */
export function nearestAbove(node: Node, trait: u32): Node {
  let above = node.parent;
  while (above && !hasTrait(above, trait)) above = above.parent;
  return above;
}

/** True for kinds with state that lasts from one input to the next. */
// @ts-ignore: decorator
@inline export function saves(node: Node): bool {
  return entry(node, SAVE) != 0;
}

/** Writes the state of the node. */
export function saveOf(node: Node): void {
  const save = entry(node, SAVE);
  if (save) call_indirect<void>(save, node);
}

/** Reads the state that a node of the same kind and spec wrote; false when it does not fit. */
export function loadOf(node: Node): bool {
  const load = entry(node, LOAD);
  return !load || call_indirect<bool>(load, node);
}
