// The outbox of a window: results that wait while the window, or a node below it, has deferred work (node/deferred.ts).
// It has windows with their content, signals and failures, in their order. Last comes the work due in many partitions
// (window/partitions/keyed.ts); signals that came since then wait behind it, and its results before it.
//
//   entry   0    next u32 | kind u32 | phase u32 | at u32 (page of the view, or group, that comes next)
//           16   value u64                            signal: its value; failure: span of its text, which stands
//                                                   behind; work due: 1 while it is left
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
import { accountOf } from '../../node/node';
import { alloc, free } from '../../mem/alloc';
import { lenOf, offOf, span } from '../../mem/layout';
import { View, VIEW_SIZE, viewFree, viewRows } from '../../rows/view';
import { SET_SIZE, setFree, setInit } from '../../agg/group/group';
import { Node } from '../../gen/node-layouts';
import { GroupSet, Group } from '../../agg/group/table';
import { WindowState } from './state';

export namespace Entry {
  export const WINDOW: u32 = 0;
  export const SIGNAL: u32 = 1;
  export const FAILURE: u32 = 2;
  export const DUE: u32 = 3;
}

/** Progress of sending a window. */
export namespace Phase {
  export const NEW: u32 = 0;
  /** The window has no rows. */
  export const EMPTY: u32 = 5;
  /** Rows are taken into groups, without GROUP BY into the one group that each row shows; or panes are joined. */
  export const TAKES: u32 = 1;
  /** The content is ready, and nothing of it is sent yet. */
  export const SENDS: u32 = 2;
  /** The message has begun. */
  export const OPEN: u32 = 3;
  /** All is sent; nodes below may still refer to the rows. */
  export const SENT: u32 = 4;
}

/** An entry of the outbox. */
// @ts-ignore: decorator
@unmanaged
export class OutboxEntry {
  next: OutboxEntry;
  kind: u32;
  phase: u32;
  at: Group;
  value: u64;
  now: f64;
  start: f64;
  end: f64;
  trigger: f64;
  size: u32;
  signal: u32;

  get set(): GroupSet {
    return changetype<GroupSet>(changetype<usize>(this) + ENTRY_SET);
  }
}

const ENTRY_SET: usize = 64;
export const ENTRY_VIEW: usize = ENTRY_SET + SET_SIZE;
export const ENTRY_FROM: usize = ENTRY_VIEW + VIEW_SIZE;
export const ENTRY_TO: usize = ENTRY_FROM + 8;
export const ENTRY_CLOSED: usize = ENTRY_FROM + 16;
export const ENTRY_LEFT: usize = ENTRY_FROM;
export const ENTRY_ROWS: usize = ENTRY_FROM + 4;
/** Bytes of an entry that is not a window; the text of a failure stands behind it. */
const PLAIN_SIZE: u32 = 64;
const WINDOW_SIZE: u32 = <u32>ENTRY_CLOSED + 8;

/** Node whose outbox is being sent; failures belong to its current entry. */
let sending: Node = changetype<Node>(0);

/** Notes that the outbox of the node is being sent, 0 for none; returns the node noted before. */
export function beginSending(node: Node): Node {
  const before = sending;
  sending = node;
  return before;
}

/** Node whose work due in partitions is being done, its entry, and the entry before that; 0 none. */
export let placing: Node = changetype<Node>(0);
export let placeDue: OutboxEntry = changetype<OutboxEntry>(0);
export let placeLast: OutboxEntry = changetype<OutboxEntry>(0);

/** Results of the node go before the entry `due`, behind `last` (0: to the front), from now on. */
export function setPlace(node: Node, due: OutboxEntry, last: OutboxEntry): void {
  placing = node;
  placeDue = due;
  placeLast = last;
}

/** The work due in partitions is done at once: its results go to its place in the outbox. */
export function placeBegin(node: Node): void {
  let last = changetype<OutboxEntry>(0);
  let entry = outboxFirst(node);
  while (entry && !(entry.kind == Entry.DUE && entry.value)) {
    last = entry;
    entry = entry.next;
  }
  if (entry) entry.value = 0;
  setPlace(entry ? node : changetype<Node>(0), entry, last);
}

/** The entry that is sent first; 0 when the outbox is empty. */
// @ts-ignore: decorator
@inline export function outboxFirst(node: Node): OutboxEntry {
  return changetype<OutboxEntry>(changetype<WindowState>(node.state).outFirst);
}

/** Number of windows that wait in the outbox of a node. */
// @ts-ignore: decorator
@inline export function outboxCount(node: Node): u32 {
  return changetype<WindowState>(node.state).outCount;
}

/**
 * True when results of the node have to wait. When the turn of the work due in partitions has come, its results are
 * sent at once.
 */
// @ts-ignore: decorator
@inline export function mustWait(node: Node): bool {
  return deferredCount != 0 && isHeld(node) && !isTurnOfDue(node);
}

function isTurnOfDue(node: Node): bool {
  if (node != sending) return false;
  const first = outboxFirst(node);
  return !!first && first.kind == Entry.DUE && first.value != 0 && !isHeldBelow(node);
}

/** True when a failure belongs to the entry whose turn it is. */
function isOfEntry(node: Node): bool {
  return node == sending && (outboxFirst(node).kind != Entry.DUE || isTurnOfDue(node));
}

/** Adds an entry for the work due in partitions; false when memory is exhausted. */
export function outboxDue(node: Node): bool {
  const entry = add(node, Entry.DUE, PLAIN_SIZE);
  if (!entry) return false;
  entry.value = 1;
  return true;
}

/**
 * Adds an entry behind the others, or before the work due that it is of. Returns 0 when memory is exhausted; the
 * waiting entries then have to be sent (`finish`), so that the result can go at once.
 */
function add(node: Node, kind: u32, size: u32): OutboxEntry {
  const entry = changetype<OutboxEntry>(alloc(size, accountOf(node)));
  if (!entry) {
    // All entries are sent now, and freed.
    setPlace(changetype<Node>(0), changetype<OutboxEntry>(0), changetype<OutboxEntry>(0));
    return changetype<OutboxEntry>(0);
  }
  const state = changetype<WindowState>(node.state);
  memory.fill(changetype<usize>(entry), 0, kind == Entry.WINDOW ? WINDOW_SIZE : PLAIN_SIZE);
  entry.kind = kind;
  entry.size = size;
  entry.now = ctx.nowMs;
  const isPlaced = placing == node;
  const last = isPlaced ? placeLast : changetype<OutboxEntry>(state.outLast);
  if (last) last.next = entry;
  else state.outFirst = changetype<usize>(entry);
  if (isPlaced) {
    entry.next = placeDue;
    placeLast = entry;
  } else state.outLast = changetype<usize>(entry);
  if (kind == Entry.WINDOW) state.outCount++;
  defer(node);
  return entry;
}

function addWindow(node: Node, start: f64, end: f64, trigger: f64, phase: u32): OutboxEntry {
  const entry = add(node, Entry.WINDOW, WINDOW_SIZE);
  if (!entry) return changetype<OutboxEntry>(0);
  entry.phase = phase;
  entry.start = start;
  entry.end = end;
  entry.trigger = trigger;
  return entry;
}

/** Moves the groups of `from`, a window state of the node, to the outbox; false when they are to be sent at once. */
export function outboxGroups(node: Node, from: WindowState, start: f64, end: f64, trigger: f64, phase: u32): bool {
  const entry = addWindow(node, start, end, trigger, phase);
  if (!entry) {
    finish(node);
    return false;
  }
  memory.copy(changetype<usize>(entry.set), changetype<usize>(from), SET_SIZE);
  setInit(from, accountOf(node));
  return true;
}

const VIEW: View = changetype<View>(memory.data(16, 8));

/**
 * Puts a window of kept rows into the outbox: rows of `from`, a window state of the node, with times from `least` to
 * `most`. False when the window is to be sent at once. The rows stay where they are.
 */
export function outboxRows(
  node: Node,
  from: WindowState,
  start: f64,
  end: f64,
  trigger: f64,
  least: f64,
  most: f64,
  closed: bool,
  phase: u32,
): bool {
  const isViewed = viewRows(VIEW, from.kept);
  const entry: usize = changetype<usize>(
    isViewed ? addWindow(node, start, end, trigger, phase) : changetype<OutboxEntry>(0),
  );
  if (!entry) {
    // The view is freed first: other windows reuse VIEW while they work.
    if (isViewed) viewFree(VIEW);
    finish(node);
    return false;
  }
  memory.copy(entry + ENTRY_VIEW, changetype<usize>(VIEW), VIEW_SIZE);
  setInit(changetype<GroupSet>(entry + ENTRY_SET), accountOf(node));
  store<f64>(entry, least, ENTRY_FROM);
  store<f64>(entry, most, ENTRY_TO);
  store<u32>(entry, <u32>closed, ENTRY_CLOSED);
  return true;
}

/**
 * Puts a window whose rows are in stacks (window/stacks/stacks.ts) into the outbox. Returns its entry, 0 when the
 * window is to be sent at once.
 */
export function outboxStacks(
  node: Node,
  start: f64,
  end: f64,
  trigger: f64,
  phase: u32,
  rows: u32,
  left: u32,
): OutboxEntry {
  const entry = addWindow(node, start, end, trigger, phase);
  if (!entry) {
    finish(node);
    return changetype<OutboxEntry>(0);
  }
  setInit(entry.set, accountOf(node));
  store<u32>(changetype<usize>(entry), rows, ENTRY_ROWS);
  store<u32>(changetype<usize>(entry), left, ENTRY_LEFT);
  return entry;
}

/** Sends a signal, or defers it while results of the node wait. */
export function sendSignal(node: Node, signal: u32, value: u64): void {
  const waits = isHeld(node);
  const entry: OutboxEntry = waits ? add(node, Entry.SIGNAL, PLAIN_SIZE) : changetype<OutboxEntry>(0);
  if (!entry) {
    if (waits) finish(node);
    signalBelow(node, signal, value);
    return;
  }
  entry.signal = signal;
  entry.value = value;
}

/** Sends the text of an error as a message, or defers it while results of the node wait. */
export function sendError(node: Node, off: usize, len: u32): void {
  const waits = isHeld(node) && !isOfEntry(node);
  const entry: OutboxEntry = waits ? add(node, Entry.FAILURE, PLAIN_SIZE + len) : changetype<OutboxEntry>(0);
  if (!entry) {
    if (waits) finish(node);
    beginMessage(node);
    endMessage(node, off, len);
    return;
  }
  memory.copy(changetype<usize>(entry) + PLAIN_SIZE, off, len);
  entry.value = span(changetype<usize>(entry) + PLAIN_SIZE, len);
}

/** Sends the signal or failure of an entry. */
export function sendEntry(node: Node, entry: OutboxEntry): void {
  const value = entry.value;
  if (entry.kind == Entry.SIGNAL) signalBelow(node, entry.signal, value);
  else {
    beginMessage(node);
    endMessage(node, offOf(value), lenOf(value));
  }
}

/** Removes the first entry and frees it. */
export function outboxShift(node: Node): void {
  const state = changetype<WindowState>(node.state);
  const entry = changetype<OutboxEntry>(state.outFirst);
  const next = entry.next;
  state.outFirst = changetype<usize>(next);
  if (!next) state.outLast = 0;
  if (entry.kind == Entry.WINDOW) {
    state.outCount--;
    setFree(entry.set);
    viewFree(changetype<View>(changetype<usize>(entry) + ENTRY_VIEW));
  }
  free(changetype<usize>(entry), entry.size, accountOf(node));
}

/** Frees all entries. */
export function outboxFree(node: Node): void {
  while (outboxFirst(node)) outboxShift(node);
}
