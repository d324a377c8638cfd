// Sends the outbox of a window (window/outbox.ts) piece by piece.
import { deferredCount, goesOn, isHeldBelow } from '../flow/deferred';
import { endMessage, beginMessage } from '../flow/emit';
import { failLen, failNoMemory, failOff } from '../flow/failure';
import { N_PROGRAM, N_SPEC, addException, exhaust } from '../flow/node';
import { selectionPop, selectionPush } from '../flow/selection';
import { stageAcquire, stageRelease } from '../flow/stage';
import { setNow } from '../flow/context';
import { lenOf, offOf } from '../mem/layout';
import { PAGE_NEXT } from '../rows/page';
import { rowsFirst } from '../rows/store';
import { WINDOW_AGGS, WINDOW_FLAGS, WindowFlag } from '../agg/spec';
import { SET_COUNT, SET_ERROR, SET_FIRST } from '../agg/group';
import { accumulate } from '../agg/accumulate';
import { keepsRows, selectRows, setWhereError, whereError } from './content';
import { frameEnter, frameLeave } from './frame';
import { bindConstants, bindPage } from './kept';
import {
  ENTRY_AT, ENTRY_CONTENT, ENTRY_END, ENTRY_KIND, ENTRY_NOW, ENTRY_PHASE, ENTRY_START, ENTRY_TRIGGER, Entry, Phase, beginSending, outboxFirst,
  outboxShift, sendEntry,
} from './outbox';
import {
  addRows, beginRows, endRows, openRows, outputColumns, pauseRows, sendFailure, sendGroups, sendNoMemory, sendSomeGroups,
} from './output';
import { W_ROWS, W_SET } from './state';

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
    if (load<u32>(entry, ENTRY_KIND) != Entry.WINDOW) sendEntry(node, entry);
    else if (load<u32>(entry, ENTRY_PHASE) != Phase.SENT) {
      const isRows = keepsRows(spec) && load<u32>(entry, ENTRY_PHASE) != Phase.EMPTY;
      if (!(isRows ? sendRows(node, spec, entry) : sendSet(node, spec, entry))) return false;
      store<u32>(entry, Phase.SENT, ENTRY_PHASE);
    }
    if (deferredCount > 1 && isHeldBelow(node)) return false;
    outboxShift(node);
    if (!goesOn(1)) return outboxFirst(node) == 0;
  }
  return true;
}

/** Sends some groups of the entry; true when the message is complete. */
function sendSet(node: usize, spec: usize, entry: usize): bool {
  const set = entry + ENTRY_CONTENT + W_SET;
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

/** Sends some rows of the entry; true when the message is complete. */
function sendRows(node: usize, spec: usize, entry: usize): bool {
  const sel = selectionPush();
  if (!sel) {
    sendNoMemory(node);
    return true;
  }
  setWhereError(0);
  if (load<u32>(entry, ENTRY_PHASE) == Phase.NEW) {
    store<u32>(entry, <u32>rowsFirst(entry + ENTRY_CONTENT + W_ROWS), ENTRY_AT);
    store<u32>(entry, load<u32>(spec, WINDOW_AGGS) ? Phase.TAKES : Phase.SENDS, ENTRY_PHASE);
  }
  let isDone = false;
  if (load<u32>(entry, ENTRY_PHASE) == Phase.TAKES) isDone = takeSome(node, spec, entry, sel);
  if (!isDone && load<u32>(entry, ENTRY_PHASE) != Phase.TAKES) isDone = sendSomeRows(node, spec, entry, sel);
  selectionPop();
  return isDone;
}

/** Takes rows into the group that each of them shows; true when the message has failed. */
function takeSome(node: usize, spec: usize, entry: usize, sel: usize): bool {
  const program = <usize>load<u32>(node, N_PROGRAM);
  let page = <usize>load<u32>(entry, ENTRY_AT);
  while (page) {
    bindPage(page, spec, program);
    const n = selectRows(spec, page, -Infinity, Infinity, true, sel);
    if (whereError()) {
      sendFailure(node, offOf(whereError()), lenOf(whereError()));
      return true;
    }
    if (n && !accumulate(spec, entry + ENTRY_CONTENT + W_SET, sel, n)) {
      sendNoMemory(node);
      return true;
    }
    page = <usize>load<u32>(page, PAGE_NEXT);
    if (page && !goesOn(n)) {
      store<u32>(entry, <u32>page, ENTRY_AT);
      return false;
    }
  }
  store<u32>(entry, <u32>rowsFirst(entry + ENTRY_CONTENT + W_ROWS), ENTRY_AT);
  store<u32>(entry, Phase.SENDS, ENTRY_PHASE);
  return false;
}

function sendSomeRows(node: usize, spec: usize, entry: usize, sel: usize): bool {
  const program = <usize>load<u32>(node, N_PROGRAM);
  const set = entry + ENTRY_CONTENT + W_SET;
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
  let page = <usize>load<u32>(entry, ENTRY_AT);
  while (page) {
    bindPage(page, spec, program);
    const n = selectRows(spec, page, -Infinity, Infinity, true, sel);
    if (whereError()) break;
    page = <usize>load<u32>(page, PAGE_NEXT);
    if (n) {
      if (!isOpen && !beginRows(node, spec, set, start, end, trigger, group)) return true;
      isOpen = true;
      addRows(node, spec, sel, n);
    }
    if (page && !goesOn(n)) {
      store<u32>(entry, <u32>page, ENTRY_AT);
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
