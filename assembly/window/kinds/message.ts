// Windows that are the messages of a join: a message begins, its rows come in, it ends and is sent.
import * as ctx from '../../batch/context';
import { isHeld } from '../../node/deferred';
import { N_PROGRAM, N_SPEC, N_STATE } from '../../node/node';
import { Trait, nearestAbove } from '../../node/operator';
import {
  WINDOW_END,
  WINDOW_START,
  WINDOW_TRIGGER,
  WindowFlag,
  bindBatch,
  bindOf,
  bindTag,
  bindVal,
  hasFlag,
} from '../../agg/group/spec';
import { setReset } from '../../agg/group/group';
import { Tag } from '../../mem/layout';
import { vmRun } from '../../ops/vm';
import { rowsClear } from '../../rows/store';
import { sendAll, takeIn } from '../content/content';
import { FRAME_END, FRAME_START, FRAME_TRIGGER, frameAbove } from '../content/frame';
import { ENTRY_END, ENTRY_START, ENTRY_TRIGGER, Phase, outboxFirst, outboxGroups, sendError } from '../content/outbox';
import { sendGroups, sendNoMemory } from '../content/output';
import { Kind } from './kind';
import { W_END, W_FIRST, W_OPEN, W_ROWS, W_SET, W_START } from '../content/state';

/** What W_OPEN says of the message under way. */
const EMPTY: u32 = 0;
const HAS_ROWS: u32 = 1;
const NO_MEMORY: u32 = 2;

export function messageWindow(kind: Kind): void {
  kind.pushMessage = messagePush;
  kind.begin = messageBegin;
  kind.end = messageEnd;
}

function messageBegin(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  store<u32>(state, EMPTY, W_OPEN);
}

/** Takes rows of the message in; its first row tells the times of the window. */
function messagePush(node: usize, spec: usize, state: usize): void {
  if (load<u32>(state, W_OPEN) == NO_MEMORY) return;
  const program = <usize>load<u32>(node, N_PROGRAM);
  if (program) vmRun(program);
  bindBatch(spec, program);
  if (load<u32>(state, W_OPEN) == EMPTY) {
    const row = load<u32>(ctx.sel);
    store<f64>(state, timeIn(load<u16>(spec, WINDOW_START), row), W_START);
    store<f64>(state, timeIn(load<u16>(spec, WINDOW_END), row), W_END);
    store<f64>(state, timeIn(load<u16>(spec, WINDOW_TRIGGER), row), W_FIRST);
    store<u32>(state, HAS_ROWS, W_OPEN);
  }
  if (!takeIn(spec, state, ctx.sel, ctx.selLen)) store<u32>(state, NO_MEMORY, W_OPEN);
}

/** Reads an input that the window above has written as a whole number. */
function timeIn(input: u32, row: u32): f64 {
  const bind = bindOf(input);
  return bindTag(bind, row) == Tag.I64 ? <f64>(<i64>bindVal(bind, row)) : 0;
}

/** Sends the window. A message that failed above goes on as such. */
function messageEnd(node: usize, failedOff: usize, failedLen: u32): void {
  const state = <usize>load<u32>(node, N_STATE);
  const spec = <usize>load<u32>(node, N_SPEC);
  const open = load<u32>(state, W_OPEN);
  if (failedOff) {
    sendError(node, failedOff, failedLen);
  } else if (open == NO_MEMORY) sendNoMemory(node);
  else if (open == HAS_ROWS) {
    sendAll(node, spec, state, load<f64>(state, W_START), load<f64>(state, W_END), load<f64>(state, W_FIRST));
  } else if (hasFlag(spec, WindowFlag.SEND_EMPTY)) {
    // No row tells the times: they are those of the window above, which sends just now.
    const entry = waitingAbove(node);
    const above = frameAbove();
    const start = entry ? load<f64>(entry, ENTRY_START) : load<f64>(above, FRAME_START);
    const end = entry ? load<f64>(entry, ENTRY_END) : load<f64>(above, FRAME_END);
    const trigger = entry ? load<f64>(entry, ENTRY_TRIGGER) : load<f64>(above, FRAME_TRIGGER);
    const waits = isHeld(node) && outboxGroups(node, state, start, end, trigger, Phase.EMPTY);
    if (!waits) sendGroups(node, spec, state + W_SET, start, end, trigger);
  }
  setReset(state + W_SET);
  rowsClear(state + W_ROWS);
  store<u32>(state, EMPTY, W_OPEN);
}

/** What the window above sends piece by piece, 0 when it sends all at once. */
function waitingAbove(node: usize): usize {
  const above = nearestAbove(node, Trait.KEEPS_MESSAGES);
  return above ? outboxFirst(above) : 0;
}
