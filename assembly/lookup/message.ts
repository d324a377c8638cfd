// What becomes of rows and messages of a lookup: they go on, or fail.
import { beginMessage, emit, endMessage } from '../emit/emit';
import { failLen, failNoMemory, failOff } from '../batch/failure';
import { N_FLAGS, NodeFlag, addException, exhaust, keepFailure } from '../node/node';
import { Tag, setAt, span } from '../mem/layout';
import { LOOK_BEGUN, LOOK_FAIL, LOOK_FAIL_LEN } from './spec';

/** The rows are those of messages; otherwise each is one by itself. */
// @ts-ignore: decorator
@inline export function isInMessage(node: usize): bool {
  return (load<u32>(node, N_FLAGS) & NodeFlag.MESSAGES) != 0;
}

/** A message begins; that is told with its first row that goes on. */
export function messageBegins(state: usize): void {
  store<u32>(state, 0, LOOK_BEGUN);
  store<u32>(state, 0, LOOK_FAIL);
}

/** A message that has lost all its rows is not sent. */
export function messageEnds(node: usize, state: usize, failedOff: usize, failedLen: u32): void {
  const own = <usize>load<u32>(state, LOOK_FAIL);
  const off = own ? own : failedOff;
  const len = own ? load<u32>(state, LOOK_FAIL_LEN) : failedLen;
  if (!load<u32>(state, LOOK_BEGUN)) {
    if (!off) return;
    beginMessage(node);
  }
  endMessage(node, off, len);
}

/** Hands the current batch on; of a message after its begin, which was held back. */
export function pass(node: usize, state: usize): void {
  if (isInMessage(node) && !load<u32>(state, LOOK_BEGUN)) {
    store<u32>(state, 1, LOOK_BEGUN);
    beginMessage(node);
  }
  emit(node);
}

/** The message under way fails for the reason in batch/failure.ts. */
export function failMessage(node: usize, state: usize): void {
  addException(node, failOff, failLen, 1);
  keepFailure(node);
  store<u32>(state, <u32>failOff, LOOK_FAIL);
  store<u32>(state, failLen, LOOK_FAIL_LEN);
}

/** There is no memory for the batch: its message fails, or, of a stream, the rules end. */
export function failMemory(node: usize, state: usize): void {
  if (!isInMessage(node)) {
    exhaust(node);
    return;
  }
  failNoMemory();
  failMessage(node, state);
}

/** Counts a row that failed; true when it travels on, by its mark in `errors`. */
export function failRow(node: usize, errors: usize, row: u32): bool {
  addException(node, failOff, failLen, 1);
  if (!(load<u32>(node, N_FLAGS) & NodeFlag.SEND_ERROR)) return false;
  setAt(errors, row, Tag.ERROR, span(failOff, failLen));
  return true;
}
