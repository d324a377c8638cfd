// Windows that are the messages of a join: a message begins, its rows come in, it ends and is sent.
import * as ctx from '../../batch/context';
import { isHeld } from '../../node/deferred';
import { Trait, nearestAbove } from '../../node/operator';
import { WindowFlag, bindBatch, bindOf, bindTag, bindVal, hasFlag } from '../../agg/group/spec';
import { setReset } from '../../agg/group/group';
import { Tag } from '../../mem/layout';
import { vmRun } from '../../ops/vm';
import { rowsClear } from '../../rows/store';
import { sendAll, takeIn } from '../content/content';
import { frameAbove } from '../content/frame';
import { OutboxEntry, Phase, outboxFirst, outboxGroups, sendError } from '../content/outbox';
import { sendGroups, sendNoMemory } from '../content/output';
import { Kind } from './kind';
import { Node } from '../../gen/node-layouts';
import { WindowSpec } from '../../gen/window-layouts';
import { WindowState } from '../content/state';

/** Values of `isOpen`: the state of the message under way. */
const EMPTY: u32 = 0;
const HAS_ROWS: u32 = 1;
const NO_MEMORY: u32 = 2;

export function messageWindow(kind: Kind): void {
  kind.pushMessage = messagePush;
  kind.begin = messageBegin;
  kind.end = messageEnd;
}

function messageBegin(node: Node): void {
  const state = changetype<WindowState>(node.state);
  state.isOpen = EMPTY;
}

/** Takes in rows of the message; its first row gives the times of the window. */
function messagePush(node: Node, spec: WindowSpec, state: WindowState): void {
  if (state.isOpen == NO_MEMORY) return;
  const program = node.program;
  if (program) vmRun(program);
  bindBatch(spec, program);
  if (state.isOpen == EMPTY) {
    const row = load<u32>(ctx.sel);
    state.start = timeIn(spec.start, row);
    state.end = timeIn(spec.end, row);
    state.firstTime = timeIn(spec.trigger, row);
    state.isOpen = HAS_ROWS;
  }
  if (!takeIn(spec, state, ctx.sel, ctx.selLen)) state.isOpen = NO_MEMORY;
}

/** Reads an input that the window above has written as a whole number. */
function timeIn(input: u32, row: u32): f64 {
  const bind = bindOf(input);
  return bindTag(bind, row) == Tag.I64 ? <f64>(<i64>bindVal(bind, row)) : 0;
}

/** Sends the window; a message that failed above is sent as failed. */
function messageEnd(node: Node, failedOff: usize, failedLen: u32): void {
  const state = changetype<WindowState>(node.state);
  const spec = changetype<WindowSpec>(node.spec);
  const open = state.isOpen;
  if (failedOff) {
    sendError(node, failedOff, failedLen);
  } else if (open == NO_MEMORY) sendNoMemory(node);
  else if (open == HAS_ROWS) {
    sendAll(node, spec, state, state.start, state.end, state.firstTime);
  } else if (hasFlag(spec, WindowFlag.SEND_EMPTY)) {
    // No row gives the times: the window above, which is being sent, has them.
    const entry = waitingAbove(node);
    const above = frameAbove();
    const start = entry ? entry.start : above.start;
    const end = entry ? entry.end : above.end;
    const trigger = entry ? entry.trigger : above.trigger;
    const waits = isHeld(node) && outboxGroups(node, state, start, end, trigger, Phase.EMPTY);
    if (!waits) sendGroups(node, spec, state, start, end, trigger);
  }
  setReset(state);
  rowsClear(state.kept);
  state.isOpen = EMPTY;
}

/** The outbox entry that the window above sends in pieces; 0 when it sends all at once. */
function waitingAbove(node: Node): OutboxEntry {
  const above = nearestAbove(node, Trait.KEEPS_MESSAGES);
  return above ? outboxFirst(above) : changetype<OutboxEntry>(0);
}
