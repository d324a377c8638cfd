// Passes the first rows of each message. A row of a stream is a message of its own, so there only LIMIT 0 has an effect.
//
//   state   none; N_STATE itself holds the rows that may still pass in the message under way
import * as ctx from './context';
import { LIMIT_COUNT } from '../gen/flow-layouts';
import { N_FLAGS, N_SPEC, N_STATE, NodeFlag, beginMessage, emit, endMessage } from './node';

// @ts-ignore: decorator
@inline function limitOf(node: usize): u32 {
  return load<u32>(<usize>load<u32>(node, N_SPEC), LIMIT_COUNT);
}

export function limitBegin(node: usize): void {
  const count = limitOf(node);
  store<u32>(node, count, N_STATE);
  if (count) beginMessage(node);
}

export function limitPush(node: usize): void {
  if (!(load<u32>(node, N_FLAGS) & NodeFlag.MESSAGES)) {
    if (limitOf(node)) emit(node);
    return;
  }
  const left = load<u32>(node, N_STATE);
  if (!left) return;
  const n = min(left, ctx.selLen);
  store<u32>(node, left - n, N_STATE);
  ctx.setSelection(ctx.sel, n);
  emit(node);
}

/** With a limit of 0 nothing began; but a failure is told, as it would be of a message of which rows are left. */
export function limitEnd(node: usize, failedOff: usize, failedLen: u32): void {
  if (!limitOf(node)) {
    if (!failedOff) return;
    beginMessage(node);
  }
  endMessage(node, failedOff, failedLen);
}
