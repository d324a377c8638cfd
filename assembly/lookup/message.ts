// How rows and messages of a lookup go on, or fail.
import { beginMessage, emit, endMessage } from '../emit/emit';
import { failLen, failNoMemory, failOff } from '../batch/failure';
import { NodeFlag, addException, exhaust, keepFailure } from '../node/node';
import { Tag, setAt, span } from '../mem/layout';
import { Node } from '../gen/node-layouts';
import { Look } from './spec';

/** True when rows belong to messages; otherwise each row is a message by itself. */
// @ts-ignore: decorator
@inline export function isInMessage(node: Node): bool {
  return (node.flags & NodeFlag.MESSAGES) != 0;
}

/** Begins a message; its BEGIN is sent only with the first row that goes on. */
export function messageBegins(state: Look): void {
  state.begun = 0;
  state.fail = 0;
}

/** Ends a message; one that has lost all its rows is not sent. */
export function messageEnds(node: Node, state: Look, failedOff: usize, failedLen: u32): void {
  const own = <usize>state.fail;
  const off = own ? own : failedOff;
  const len = own ? state.failLen : failedLen;
  if (!state.begun) {
    if (!off) return;
    beginMessage(node);
  }
  endMessage(node, off, len);
}

/** Passes the current batch on, in a message after the BEGIN that was held back. */
export function pass(node: Node, state: Look): void {
  if (isInMessage(node) && !state.begun) {
    state.begun = 1;
    beginMessage(node);
  }
  emit(node);
}

/** Fails the message under way for the reason in batch/failure.ts. */
export function failMessage(node: Node, state: Look): void {
  addException(node, failOff, failLen, 1);
  keepFailure(node);
  state.fail = <u32>failOff;
  state.failLen = failLen;
}

/** Fails the message when there is no memory for the batch; of a stream, it ends the rules. */
export function failMemory(node: Node, state: Look): void {
  if (!isInMessage(node)) {
    exhaust(node);
    return;
  }
  failNoMemory();
  failMessage(node, state);
}

/** Counts a row that failed; true when it travels on, by its mark in `errors`. */
export function failRow(node: Node, errors: usize, row: u32): bool {
  addException(node, failOff, failLen, 1);
  if (!(node.flags & NodeFlag.SEND_ERROR)) return false;
  setAt(errors, row, Tag.ERROR, span(failOff, failLen));
  return true;
}
