// Sends the outbox of a window (window/content/outbox.ts) piece by piece.
import { deferredCount, goesOn, isHeldBelow } from '../node/deferred';
import { endMessage, beginMessage } from '../emit/emit';
import { failLen, failNoMemory, failOff } from '../batch/failure';
import { N_PROGRAM, N_SPEC, N_STATE, addException, exhaust } from '../node/node';
import { selectionPop, selectionPush } from '../batch/selection';
import { stageAcquire, stageRelease } from '../batch/stage';
import { setNow } from '../batch/context';
import { lenOf, offOf } from '../mem/layout';
import { viewFrom, viewPage, viewPages, viewTo } from '../rows/view';
import { NO_INPUT, WINDOW_AGGS, WINDOW_FLAGS, WINDOW_WHERE, WindowFlag } from '../agg/group/spec';
import { SET_ERROR, setError } from '../agg/group/group';
import { SET_COUNT, SET_FIRST } from '../agg/group/table';
import { accumulate } from '../agg/accumulate';
import { isGrouped, keepsRows, selectRows, setWhereError, whereError } from './content/content';
import { frameEnter, frameLeave } from './content/frame';
import { bindConstants, bindPage } from './content/kept';
import { keyedGoOn } from './partitions/keyed';
import {
  ENTRY_AT,
  ENTRY_CLOSED,
  ENTRY_END,
  ENTRY_FROM,
  ENTRY_KIND,
  ENTRY_LEFT,
  ENTRY_NOW,
  ENTRY_PHASE,
  ENTRY_ROWS,
  ENTRY_SET,
  ENTRY_START,
  ENTRY_TO,
  ENTRY_TRIGGER,
  ENTRY_VIEW,
  Entry,
  Phase,
  beginSending,
  outboxFirst,
  outboxShift,
  sendEntry,
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

/** Sends some of the outbox; true when nothing is left. */
export function piecesSend(node: usize): bool {
  if (!frameEnter()) {
    exhaust(node);
    return true;
  }
  const before = beginSending(node);
  const isDone = sendSome(node, <usize>load<u32>(node, N_SPEC));
  beginSending(before);
  frameLeave();
  return isDone;
}

function sendSome(node: usize, spec: usize): bool {
  for (let entry = outboxFirst(node); entry; entry = outboxFirst(node)) {
    setNow(load<f64>(entry, ENTRY_NOW));
    if (load<u32>(entry, ENTRY_KIND) == Entry.DUE) {
      if (!keyedGoOn(node, spec)) return false;
    } else if (load<u32>(entry, ENTRY_KIND) != Entry.WINDOW) sendEntry(node, entry);
    else if (load<u32>(entry, ENTRY_PHASE) != Phase.SENT) {
      if (!sendWindow(node, spec, entry)) return false;
      store<u32>(entry, Phase.SENT, ENTRY_PHASE);
    }
    if (deferredCount > 1 && isHeldBelow(node)) return false;
    const state = <usize>load<u32>(node, N_STATE);
    if (load<u32>(entry, ENTRY_KIND) == Entry.WINDOW && isInPanes(spec, state))
      panesSent(node, spec, state, load<f64>(entry, ENTRY_END));
    else if (load<u32>(entry, ENTRY_KIND) == Entry.WINDOW && isInStacks(spec, state)) stacksSent(node, state);
    outboxShift(node);
    if (!goesOn(1)) return outboxFirst(node) == 0;
  }
  return true;
}

/** Sends some of the window; true when its message is complete. */
function sendWindow(node: usize, spec: usize, entry: usize): bool {
  if (isInPanes(spec, <usize>load<u32>(node, N_STATE))) return sendPanes(node, spec, entry);
  if (isInStacks(spec, <usize>load<u32>(node, N_STATE))) return sendStacks(node, spec, entry);
  if (!keepsRows(spec) || load<u32>(entry, ENTRY_PHASE) == Phase.EMPTY)
    return sendSet(node, spec, entry, entry + ENTRY_SET);
  const sel = selectionPush();
  if (!sel) {
    sendNoMemory(node);
    return true;
  }
  setWhereError(0);
  if (load<u32>(entry, ENTRY_PHASE) == Phase.NEW) {
    const takes = takesGroups(spec) || load<u16>(spec, WINDOW_WHERE) != NO_INPUT;
    store<u32>(entry, takes ? Phase.TAKES : Phase.SENDS, ENTRY_PHASE);
  }
  let hasFailed = false;
  if (load<u32>(entry, ENTRY_PHASE) == Phase.TAKES) hasFailed = takeSome(node, spec, entry, sel);
  const isTaken = !hasFailed && load<u32>(entry, ENTRY_PHASE) != Phase.TAKES;
  const isDone = isTaken && !isGrouped(spec) && sendSomeRows(node, spec, entry, sel);
  selectionPop();
  return hasFailed || isDone || (isTaken && isGrouped(spec) && sendSet(node, spec, entry, entry + ENTRY_SET));
}

/** Joins some of the panes of the window, or sends some of what they made; true when its message is complete. */
function sendPanes(node: usize, spec: usize, entry: usize): bool {
  const state = <usize>load<u32>(node, N_STATE);
  if (load<u32>(entry, ENTRY_PHASE) == Phase.NEW) {
    if (!panesBegin(node, spec, state, load<f64>(entry, ENTRY_END))) return true;
    store<u32>(entry, Phase.TAKES, ENTRY_PHASE);
  }
  if (load<u32>(entry, ENTRY_PHASE) == Phase.TAKES) {
    const joined = panesJoin(node, spec, state, entry + ENTRY_SET, true);
    if (joined != Joined.ALL) return joined == Joined.LOST;
    store<u32>(entry, Phase.SENDS, ENTRY_PHASE);
  }
  return sendSet(node, spec, entry, entry + ENTRY_SET);
}

/** As `sendPanes` of a window in stacks. */
function sendStacks(node: usize, spec: usize, entry: usize): bool {
  const state = <usize>load<u32>(node, N_STATE);
  if (load<u32>(entry, ENTRY_PHASE) == Phase.NEW) {
    stacksBegin(node, state, load<u32>(entry, ENTRY_LEFT), load<u32>(entry, ENTRY_ROWS));
    store<u32>(entry, Phase.TAKES, ENTRY_PHASE);
  }
  if (load<u32>(entry, ENTRY_PHASE) == Phase.TAKES) {
    const come = stacksJoin(node, spec, state, entry + ENTRY_SET);
    if (come != Stacked.ALL) return come != Stacked.SOME;
    store<u32>(entry, Phase.SENDS, ENTRY_PHASE);
  }
  return sendSet(node, spec, entry, stacksSet(state, entry + ENTRY_SET));
}

/** Sends some groups of the set, that of the entry or one that is its; true when the message is complete. */
function sendSet(node: usize, spec: usize, entry: usize, set: usize): bool {
  const start = load<f64>(entry, ENTRY_START);
  const end = load<f64>(entry, ENTRY_END);
  const trigger = load<f64>(entry, ENTRY_TRIGGER);
  bindConstants(spec, <usize>load<u32>(node, N_PROGRAM));
  if (load<u32>(entry, ENTRY_PHASE) != Phase.OPEN) {
    if (load<u32>(set, SET_ERROR) || load<u32>(set, SET_COUNT) == 0) {
      sendGroups(node, spec, set, start, end, trigger);
      return true;
    }
    store<u32>(entry, load<u32>(set, SET_FIRST), ENTRY_AT);
    store<u32>(entry, Phase.OPEN, ENTRY_PHASE);
    beginMessage(node);
  }
  const cols = stageAcquire(outputColumns(spec));
  if (!cols) {
    failNoMemory();
    addException(node, failOff, failLen, 1);
    endMessage(node, failOff, failLen);
    return true;
  }
  let group = <usize>load<u32>(entry, ENTRY_AT);
  do {
    const before = group;
    group = sendSomeGroups(node, spec, cols, before, start, end, trigger);
  } while (group && goesOn(1024));
  store<u32>(entry, <u32>group, ENTRY_AT);
  if (!group) endMessage(node, 0, 0);
  stageRelease(outputColumns(spec));
  return !group;
}

/** Selects the rows of page `i` of the view that are in the window, and binds them. */
function selectSome(node: usize, spec: usize, entry: usize, i: u32, sel: usize): u32 {
  const view = entry + ENTRY_VIEW;
  const page = viewPage(view, i);
  bindPage(page, spec, <usize>load<u32>(node, N_PROGRAM));
  const closed = load<u32>(entry, ENTRY_CLOSED) != 0;
  return selectRows(
    spec,
    page,
    viewFrom(view, i),
    viewTo(view, i),
    load<f64>(entry, ENTRY_FROM),
    load<f64>(entry, ENTRY_TO),
    closed,
    sel,
  );
}

/** Its rows are taken into groups before they, or these, are sent. */
// @ts-ignore: decorator
@inline function takesGroups(spec: usize): bool {
  return isGrouped(spec) || load<u32>(spec, WINDOW_AGGS) != 0;
}

/**
 * Takes rows into their groups, or into the one group that each of them shows, and judges them by WHERE; true when the
 * message has failed: then none of its rows came to nodes that remember it.
 */
function takeSome(node: usize, spec: usize, entry: usize, sel: usize): bool {
  const set = entry + ENTRY_SET;
  const pages = viewPages(entry + ENTRY_VIEW);
  for (let i = load<u32>(entry, ENTRY_AT); i < pages; ) {
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
      store<u32>(entry, i, ENTRY_AT);
      return false;
    }
  }
  store<u32>(entry, 0, ENTRY_AT);
  store<u32>(entry, Phase.SENDS, ENTRY_PHASE);
  return false;
}

function sendSomeRows(node: usize, spec: usize, entry: usize, sel: usize): bool {
  const set = entry + ENTRY_SET;
  const group = <usize>load<u32>(set, SET_FIRST);
  const start = load<f64>(entry, ENTRY_START);
  const end = load<f64>(entry, ENTRY_END);
  const trigger = load<f64>(entry, ENTRY_TRIGGER);
  let isOpen = load<u32>(entry, ENTRY_PHASE) == Phase.OPEN;
  if (isOpen && !openRows(spec, set, start, end, trigger, group)) {
    failNoMemory();
    addException(node, failOff, failLen, 1);
    endMessage(node, failOff, failLen);
    return true;
  }
  const pages = viewPages(entry + ENTRY_VIEW);
  for (let i = load<u32>(entry, ENTRY_AT); i < pages; ) {
    const n = selectSome(node, spec, entry, i, sel);
    if (whereError()) break;
    if (n) {
      if (!isOpen && !beginRows(node, spec, set, start, end, trigger, group)) return true;
      isOpen = true;
      addRows(node, spec, sel, n);
    }
    if (++i < pages && !goesOn(n)) {
      store<u32>(entry, i, ENTRY_AT);
      if (!isOpen) return false;
      store<u32>(entry, Phase.OPEN, ENTRY_PHASE);
      pauseRows(node, spec);
      return false;
    }
  }
  if (isOpen) endRows(node, spec, whereError());
  else if (whereError()) sendFailure(node, offOf(whereError()), lenOf(whereError()));
  else if (load<u32>(spec, WINDOW_FLAGS) & WindowFlag.SEND_EMPTY) {
    if (beginRows(node, spec, set, start, end, trigger, 0)) endRows(node, spec, 0);
  }
  return true;
}
