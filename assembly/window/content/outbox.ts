// What a window is to send once the work is done that it, or a node below it, has deferred (node/deferred.ts): windows
// with all that they hold, signals, failures, in their order; and, last, what is due of many partitions
// (window/partitions/keyed.ts).
//
//   entry   0    next u32 | kind u32 | phase u32 | at u32 (page of the view, or group, that comes next)
//           16   value u64                            signal: its value; failure: span of its text, which stands behind
//           24   now f64                              time of the batch or tick that it is of, epoch ms
//           32   start f64 | end f64 | trigger f64    of a window
//           56   size u32 (of the entry) | signal u32
//           64   group set 120
//           184  view 16 (rows/view.ts)               of the rows that were there when the window came to its end
//           200  from f64 | to f64 | closed u32       which of them are in it, by their times: `from <= time < to`,
//           closed: `<= to`
//           200  left u32 | rows u32                  of a window in stacks instead: rows that have left since the one
//           before; rows in it
import * as ctx from '../../batch/context';
import { endMessage, beginMessage, signalBelow } from '../../emit/emit';
import { defer, deferredCount, finish, isHeld, isHeldBelow } from '../../node/deferred';
import { N_STATE, accountOf } from '../../node/node';
import { alloc, free } from '../../mem/alloc';
import { lenOf, offOf, span } from '../../mem/layout';
import { VIEW_SIZE, viewFree, viewRows } from '../../rows/view';
import { SET_SIZE, setFree, setInit } from '../../agg/group/group';
import { W_OUT_COUNT, W_OUT_FIRST, W_OUT_LAST, W_ROWS, W_SET } from './state';

export namespace Entry {
  export const WINDOW: u32 = 0;
  export const SIGNAL: u32 = 1;
  export const FAILURE: u32 = 2;
  export const DUE: u32 = 3;
}

/** How far a window was sent. */
export namespace Phase {
  export const NEW: u32 = 0;
  /** It had no rows. */
  export const EMPTY: u32 = 5;
  /**
   * Its rows are taken into groups, of windows without groups into the one that each row shows; or its panes are
   * joined.
   */
  export const TAKES: u32 = 1;
  /** Nothing was sent yet. */
  export const SENDS: u32 = 2;
  /** Its message has begun. */
  export const OPEN: u32 = 3;
  /** All is sent; nodes below may refer to its rows still. */
  export const SENT: u32 = 4;
}

const NEXT: usize = 0;
export const ENTRY_KIND: usize = 4;
export const ENTRY_PHASE: usize = 8;
export const ENTRY_AT: usize = 12;
const ENTRY_VALUE: usize = 16;
export const ENTRY_NOW: usize = 24;
export const ENTRY_START: usize = 32;
export const ENTRY_END: usize = 40;
export const ENTRY_TRIGGER: usize = 48;
const SIZE: usize = 56;
const ENTRY_SIGNAL: usize = 60;
export const ENTRY_SET: usize = 64;
export const ENTRY_VIEW: usize = ENTRY_SET + SET_SIZE;
export const ENTRY_FROM: usize = ENTRY_VIEW + VIEW_SIZE;
export const ENTRY_TO: usize = ENTRY_FROM + 8;
export const ENTRY_CLOSED: usize = ENTRY_FROM + 16;
export const ENTRY_LEFT: usize = ENTRY_FROM;
export const ENTRY_ROWS: usize = ENTRY_FROM + 4;
/** Of what is no window; a text stands behind it. */
const PLAIN_SIZE: u32 = 64;
const WINDOW_SIZE: u32 = <u32>ENTRY_CLOSED + 8;

/** The window whose outbox is being sent: its failures are those of the entry at hand. */
let sending: usize = 0;

/** Notes that the outbox of the node is being sent, 0 of none; returns the node of which it was before. */
export function beginSending(node: usize): usize {
  const before = sending;
  sending = node;
  return before;
}

/** The entry that is to be sent first, 0 none. */
// @ts-ignore: decorator
@inline export function outboxFirst(node: usize): usize {
  return <usize>load<u32>(<usize>load<u32>(node, N_STATE), W_OUT_FIRST);
}

/** Windows that wait in a node. */
// @ts-ignore: decorator
@inline export function outboxCount(node: usize): u32 {
  return load<u32>(<usize>load<u32>(node, N_STATE), W_OUT_COUNT);
}

/**
 * True when what the node sends has to wait. What is due of its partitions goes at once when its turn has come, unless
 * something waits behind it.
 */
// @ts-ignore: decorator
@inline export function mustWait(node: usize): bool {
  return deferredCount != 0 && isHeld(node) && !isAlone(node);
}

function isAlone(node: usize): bool {
  const state = <usize>load<u32>(node, N_STATE);
  const first = <usize>load<u32>(state, W_OUT_FIRST);
  if (node != sending || !first || first != <usize>load<u32>(state, W_OUT_LAST)) return false;
  return load<u32>(first, ENTRY_KIND) == Entry.DUE && !isHeldBelow(node);
}

/** True when a failure is that of the window, or of what is due, whose turn it is. */
function isOfEntry(node: usize): bool {
  return node == sending && (load<u32>(outboxFirst(node), ENTRY_KIND) != Entry.DUE || isAlone(node));
}

/** Leaves what is due of partitions to later; false when there is no memory for that. */
export function outboxDue(node: usize): bool {
  return add(node, Entry.DUE, PLAIN_SIZE) != 0;
}

/**
 * Adds an entry behind the others; 0 when memory is exhausted: what waits has to be sent then (`finish`), so that
 * nothing is in the way.
 */
function add(node: usize, kind: u32, size: u32): usize {
  const entry = alloc(size, accountOf(node));
  if (!entry) return 0;
  const state = <usize>load<u32>(node, N_STATE);
  memory.fill(entry, 0, kind == Entry.WINDOW ? WINDOW_SIZE : PLAIN_SIZE);
  store<u32>(entry, kind, ENTRY_KIND);
  store<u32>(entry, size, SIZE);
  store<f64>(entry, ctx.nowMs, ENTRY_NOW);
  const last = <usize>load<u32>(state, W_OUT_LAST);
  if (last) store<u32>(last, <u32>entry, NEXT);
  else store<u32>(state, <u32>entry, W_OUT_FIRST);
  store<u32>(state, <u32>entry, W_OUT_LAST);
  if (kind == Entry.WINDOW) store<u32>(state, load<u32>(state, W_OUT_COUNT) + 1, W_OUT_COUNT);
  defer(node);
  return entry;
}

function addWindow(node: usize, start: f64, end: f64, trigger: f64, phase: u32): usize {
  const entry = add(node, Entry.WINDOW, WINDOW_SIZE);
  if (!entry) return 0;
  store<u32>(entry, phase, ENTRY_PHASE);
  store<f64>(entry, start, ENTRY_START);
  store<f64>(entry, end, ENTRY_END);
  store<f64>(entry, trigger, ENTRY_TRIGGER);
  return entry;
}

/** Moves the groups of `from`, a window state of the node, to the outbox; false when they are to be sent at once. */
export function outboxGroups(node: usize, from: usize, start: f64, end: f64, trigger: f64, phase: u32): bool {
  const entry = addWindow(node, start, end, trigger, phase);
  if (!entry) {
    finish(node);
    return false;
  }
  memory.copy(entry + ENTRY_SET, from + W_SET, SET_SIZE);
  setInit(from + W_SET, accountOf(node));
  return true;
}

const VIEW: usize = memory.data(16, 8);

/**
 * Leaves a window of kept rows, those of `from` (a window state of the node) of the times `least` to `most`, to the
 * outbox; false when it is to be sent at once. The rows stay where they are.
 */
export function outboxRows(
  node: usize,
  from: usize,
  start: f64,
  end: f64,
  trigger: f64,
  least: f64,
  most: f64,
  closed: bool,
  phase: u32,
): bool {
  const isViewed = viewRows(VIEW, from + W_ROWS);
  const entry: usize = isViewed ? addWindow(node, start, end, trigger, phase) : 0;
  if (!entry) {
    // First the view: while others work theirs stand in its place.
    if (isViewed) viewFree(VIEW);
    finish(node);
    return false;
  }
  memory.copy(entry + ENTRY_VIEW, VIEW, VIEW_SIZE);
  setInit(entry + ENTRY_SET, accountOf(node));
  store<f64>(entry, least, ENTRY_FROM);
  store<f64>(entry, most, ENTRY_TO);
  store<u32>(entry, <u32>closed, ENTRY_CLOSED);
  return true;
}

/**
 * Leaves a window whose rows are in stacks (window/stacks/stacks.ts) to the outbox; returns its entry, 0 when it is to
 * be sent at once.
 */
export function outboxStacks(node: usize, start: f64, end: f64, trigger: f64, phase: u32, rows: u32, left: u32): usize {
  const entry = addWindow(node, start, end, trigger, phase);
  if (!entry) {
    finish(node);
    return 0;
  }
  setInit(entry + ENTRY_SET, accountOf(node));
  store<u32>(entry, rows, ENTRY_ROWS);
  store<u32>(entry, left, ENTRY_LEFT);
  return entry;
}

/** Sends a signal, when its turn comes. */
export function sendSignal(node: usize, signal: u32, value: u64): void {
  const waits = isHeld(node);
  const entry: usize = waits ? add(node, Entry.SIGNAL, PLAIN_SIZE) : 0;
  if (!entry) {
    if (waits) finish(node);
    signalBelow(node, signal, value);
    return;
  }
  store<u32>(entry, signal, ENTRY_SIGNAL);
  store<u64>(entry, value, ENTRY_VALUE);
}

/** Sends a message that is the text of an error, when its turn comes. */
export function sendError(node: usize, off: usize, len: u32): void {
  const waits = isHeld(node) && !isOfEntry(node);
  const entry: usize = waits ? add(node, Entry.FAILURE, PLAIN_SIZE + len) : 0;
  if (!entry) {
    if (waits) finish(node);
    beginMessage(node);
    endMessage(node, off, len);
    return;
  }
  memory.copy(entry + PLAIN_SIZE, off, len);
  store<u64>(entry, span(entry + PLAIN_SIZE, len), ENTRY_VALUE);
}

/** Sends a signal or failure of the outbox. */
export function sendEntry(node: usize, entry: usize): void {
  const value = load<u64>(entry, ENTRY_VALUE);
  if (load<u32>(entry, ENTRY_KIND) == Entry.SIGNAL) signalBelow(node, load<u32>(entry, ENTRY_SIGNAL), value);
  else {
    beginMessage(node);
    endMessage(node, offOf(value), lenOf(value));
  }
}

/** Takes the first entry out and frees it. */
export function outboxShift(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  const entry = <usize>load<u32>(state, W_OUT_FIRST);
  const next = load<u32>(entry, NEXT);
  store<u32>(state, next, W_OUT_FIRST);
  if (!next) store<u32>(state, 0, W_OUT_LAST);
  if (load<u32>(entry, ENTRY_KIND) == Entry.WINDOW) {
    store<u32>(state, load<u32>(state, W_OUT_COUNT) - 1, W_OUT_COUNT);
    setFree(entry + ENTRY_SET);
    viewFree(entry + ENTRY_VIEW);
  }
  free(entry, load<u32>(entry, SIZE), accountOf(node));
}

/** Frees all entries. */
export function outboxFree(node: usize): void {
  while (outboxFirst(node)) outboxShift(node);
}
