// Sends the outbox of a window (window/content/outbox.ts) piece by piece.
import { deferredCount, goesOn, isHeldBelow } from '../node/deferred';
import { endMessage, beginMessage } from '../emit/emit';
import { failLen, failNoMemory, failOff } from '../batch/failure';
import { addException, exhaust } from '../node/node';
import { selectionPop, selectionPush } from '../batch/selection';
import { stageAcquire, stageRelease } from '../batch/stage';
import { setNow } from '../batch/context';
import { lenOf, offOf } from '../mem/layout';
import { View, viewFrom, viewPage, viewPages, viewTo } from '../rows/view';
import { NO_INPUT, WindowFlag } from '../agg/group/spec';
import { setError } from '../agg/group/group';
import { accumulate } from '../agg/accumulate';
import { isGrouped, keepsRows, selectRows, setWhereError, whereError } from './content/content';
import { frameEnter, frameLeave } from './content/frame';
import { bindConstants, bindPage } from './content/kept';
import { keyedGoOn } from './partitions/keyed';
import {
  OutboxEntry,
  ENTRY_CLOSED,
  ENTRY_FROM,
  ENTRY_LEFT,
  ENTRY_ROWS,
  ENTRY_TO,
  ENTRY_VIEW,
  Entry,
  Phase,
  beginSending,
  outboxFirst,
  outboxShift,
  placeDue,
  placeLast,
  placing,
  sendEntry,
  setPlace,
} from './content/outbox';
import {
  addRows,
  beginRows,
  endRows,
  openRows,
  outputColumns,
  pauseRows,
  sendFailure,
  sendGroups,
  sendNoMemory,
  sendSomeGroups,
} from './content/output';
import { isInPanes, panesBegin, panesJoin, panesSent } from './panes/panes';
import { Joined } from './panes/join';
import { isInStacks, stacksBegin, stacksJoin, stacksSent, stacksSet } from './stacks/stacks';
import { Stacked } from './stacks/join';
import { Node } from '../gen/node-layouts';
import { WindowSpec } from '../gen/window-layouts';
import { GroupSet, Group } from '../agg/group/table';
import { WindowState } from './content/state';

/** Sends some of the outbox; true when nothing is left. */
export function piecesSend(node: Node): bool {
  if (!frameEnter()) {
    exhaust(node);
    return true;
  }
  const before = beginSending(node);
  const isDone = sendSome(node, changetype<WindowSpec>(node.spec));
  beginSending(before);
  frameLeave();
  return isDone;
}

function sendSome(node: Node, spec: WindowSpec): bool {
  for (let entry = outboxFirst(node); entry; entry = outboxFirst(node)) {
    setNow(entry.now);
    if (entry.kind == Entry.DUE) {
      if (entry.value && !dueGoesOn(node, spec, entry)) return false;
      entry.value = 0;
      // Results that are too long to be sent at once stand before it now.
      if (outboxFirst(node) != entry) continue;
    } else if (entry.kind != Entry.WINDOW) sendEntry(node, entry);
    else if (entry.phase != Phase.SENT) {
      if (!sendWindow(node, spec, entry)) return false;
      entry.phase = Phase.SENT;
    }
    if (deferredCount > 1 && isHeldBelow(node)) return false;
    const state = changetype<WindowState>(node.state);
    if (entry.kind == Entry.WINDOW && isInPanes(spec, state)) panesSent(node, spec, state, entry.end);
    else if (entry.kind == Entry.WINDOW && isInStacks(spec, state)) stacksSent(node, state);
    outboxShift(node);
    if (!goesOn(1)) return !outboxFirst(node);
  }
  return true;
}

/** Does some of the work due in partitions; true when none is left. */
function dueGoesOn(node: Node, spec: WindowSpec, entry: OutboxEntry): bool {
  // Nodes below may be at the same.
  const outer = placing;
  const outerDue = placeDue;
  const outerLast = placeLast;
  setPlace(node, entry, changetype<OutboxEntry>(0));
  const isDone = keyedGoOn(node, spec);
  setPlace(outer, outerDue, outerLast);
  return isDone;
}

/** Sends a part of the window; true when its message is complete. */
function sendWindow(node: Node, spec: WindowSpec, entry: OutboxEntry): bool {
  if (isInPanes(spec, changetype<WindowState>(node.state))) return sendPanes(node, spec, entry);
  if (isInStacks(spec, changetype<WindowState>(node.state))) return sendStacks(node, spec, entry);
  if (!keepsRows(spec) || entry.phase == Phase.EMPTY) return sendSet(node, spec, entry, entry.set);
  const sel = selectionPush();
  if (!sel) {
    sendNoMemory(node);
    return true;
  }
  setWhereError(0);
  if (entry.phase == Phase.NEW) {
    const takes = takesGroups(spec) || spec.where != NO_INPUT;
    entry.phase = takes ? Phase.TAKES : Phase.SENDS;
  }
  let hasFailed = false;
  if (entry.phase == Phase.TAKES) hasFailed = takeSome(node, spec, entry, sel);
  const isTaken = !hasFailed && entry.phase != Phase.TAKES;
  const isDone = isTaken && !isGrouped(spec) && sendSomeRows(node, spec, entry, sel);
  selectionPop();
  return hasFailed || isDone || (isTaken && isGrouped(spec) && sendSet(node, spec, entry, entry.set));
}

/** Joins some of the panes of the window, or sends a part of the result; true when its message is complete. */
function sendPanes(node: Node, spec: WindowSpec, entry: OutboxEntry): bool {
  const state = changetype<WindowState>(node.state);
  if (entry.phase == Phase.NEW) {
    if (!panesBegin(node, spec, state, entry.end)) return true;
    entry.phase = Phase.TAKES;
  }
  if (entry.phase == Phase.TAKES) {
    const joined = panesJoin(node, spec, state, entry.set, true);
    if (joined != Joined.ALL) return joined == Joined.LOST;
    entry.phase = Phase.SENDS;
  }
  return sendSet(node, spec, entry, entry.set);
}

/** As `sendPanes` for a window in stacks. */
function sendStacks(node: Node, spec: WindowSpec, entry: OutboxEntry): bool {
  const state = changetype<WindowState>(node.state);
  if (entry.phase == Phase.NEW) {
    stacksBegin(
      node,
      state,
      load<u32>(changetype<usize>(entry), ENTRY_LEFT),
      load<u32>(changetype<usize>(entry), ENTRY_ROWS),
    );
    entry.phase = Phase.TAKES;
  }
  if (entry.phase == Phase.TAKES) {
    const come = stacksJoin(node, spec, state, entry.set);
    if (come != Stacked.ALL) return come != Stacked.SOME;
    entry.phase = Phase.SENDS;
  }
  return sendSet(node, spec, entry, stacksSet(state, entry.set));
}

/** Sends some groups of the set, which holds the result of the entry; true when the message is complete. */
function sendSet(node: Node, spec: WindowSpec, entry: OutboxEntry, set: GroupSet): bool {
  const start = entry.start;
  const end = entry.end;
  const trigger = entry.trigger;
  bindConstants(spec, node.program);
  if (entry.phase != Phase.OPEN) {
    if (set.error || set.count == 0) {
      sendGroups(node, spec, set, start, end, trigger);
      return true;
    }
    entry.at = set.first;
    entry.phase = Phase.OPEN;
    beginMessage(node);
  }
  const cols = stageAcquire(outputColumns(spec));
  if (!cols) {
    failNoMemory();
    addException(node, failOff, failLen, 1);
    endMessage(node, failOff, failLen);
    return true;
  }
  let group = entry.at;
  do {
    const before = group;
    group = sendSomeGroups(node, spec, cols, before, start, end, trigger);
  } while (group && goesOn(1024));
  entry.at = group;
  if (!group) endMessage(node, 0, 0);
  stageRelease(outputColumns(spec));
  return !group;
}

/** Binds page `i` of the view and selects its rows that are in the window. */
function selectSome(node: Node, spec: WindowSpec, entry: OutboxEntry, i: u32, sel: usize): u32 {
  const view = changetype<View>(changetype<usize>(entry) + ENTRY_VIEW);
  const page = viewPage(view, i);
  bindPage(page, spec, node.program);
  const closed = load<u32>(changetype<usize>(entry), ENTRY_CLOSED) != 0;
  return selectRows(
    spec,
    page,
    viewFrom(view, i),
    viewTo(view, i),
    load<f64>(changetype<usize>(entry), ENTRY_FROM),
    load<f64>(changetype<usize>(entry), ENTRY_TO),
    closed,
    sel,
  );
}

/** True when rows are taken into groups before rows or groups are sent. */
// @ts-ignore: decorator
@inline function takesGroups(spec: WindowSpec): bool {
  return isGrouped(spec) || spec.aggs != 0;
}

/**
 * Takes rows into their groups, or into the one group that each of them shows, and judges them by WHERE. True when the
 * message has failed; nodes that remember rows have then got none of it.
 */
function takeSome(node: Node, spec: WindowSpec, entry: OutboxEntry, sel: usize): bool {
  const set = entry.set;
  const pages = viewPages(changetype<View>(changetype<usize>(entry) + ENTRY_VIEW));
  for (let i = changetype<usize>(entry.at); i < pages; ) {
    const n = selectSome(node, spec, entry, i, sel);
    if (whereError()) {
      if (isGrouped(spec)) setError(set, whereError());
      else {
        sendFailure(node, offOf(whereError()), lenOf(whereError()));
        return true;
      }
    }
    if (n && takesGroups(spec) && !accumulate(spec, set, sel, n)) {
      sendNoMemory(node);
      return true;
    }
    if (++i < pages && !goesOn(n)) {
      entry.at = changetype<Group>(i);
      return false;
    }
  }
  entry.at = changetype<Group>(0);
  entry.phase = Phase.SENDS;
  return false;
}

function sendSomeRows(node: Node, spec: WindowSpec, entry: OutboxEntry, sel: usize): bool {
  const set = entry.set;
  const group = set.first;
  const start = entry.start;
  const end = entry.end;
  const trigger = entry.trigger;
  let isOpen = entry.phase == Phase.OPEN;
  if (isOpen && !openRows(spec, set, start, end, trigger, group)) {
    failNoMemory();
    addException(node, failOff, failLen, 1);
    endMessage(node, failOff, failLen);
    return true;
  }
  const pages = viewPages(changetype<View>(changetype<usize>(entry) + ENTRY_VIEW));
  for (let i = changetype<usize>(entry.at); i < pages; ) {
    const n = selectSome(node, spec, entry, i, sel);
    if (whereError()) break;
    if (n) {
      if (!isOpen && !beginRows(node, spec, set, start, end, trigger, group)) return true;
      isOpen = true;
      addRows(node, spec, sel, n);
    }
    if (++i < pages && !goesOn(n)) {
      entry.at = changetype<Group>(i);
      if (!isOpen) return false;
      entry.phase = Phase.OPEN;
      pauseRows(node, spec);
      return false;
    }
  }
  if (isOpen) endRows(node, spec, whereError());
  else if (whereError()) sendFailure(node, offOf(whereError()), lenOf(whereError()));
  else if (spec.flags & WindowFlag.SEND_EMPTY) {
    if (beginRows(node, spec, set, start, end, trigger, changetype<Group>(0))) endRows(node, spec, 0);
  }
  return true;
}
