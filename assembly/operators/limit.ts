// Passes the first rows of each message. A row of a stream is a message of its own, so there only LIMIT 0 has an
// effect.
//
//   state   none; N_STATE itself holds the rows that may still pass in the message under way
import * as ctx from '../batch/context';
import { beginMessage, emit, endMessage, signalBelow } from '../emit/emit';
import { N_FLAGS, N_SPEC, N_STATE, NodeFlag } from '../node/node';
import { Operator, Signal } from '../node/operator';
import { LIMIT_COUNT } from '../gen/operators-layouts';
import { lenOf, offOf } from '../mem/layout';

export function limitOperator(operator: Operator): void {
  operator.push = limitPush;
  operator.signal = limitSignal;
}

// @ts-ignore: decorator
@inline function limitOf(node: usize): u32 {
  return load<u32>(<usize>load<u32>(node, N_SPEC), LIMIT_COUNT);
}

function limitSignal(node: usize, signal: u32, value: u64): void {
  if (signal == Signal.BEGIN) begin(node);
  else if (signal == Signal.END) end(node, offOf(value), lenOf(value));
  else signalBelow(node, signal, value);
}

function begin(node: usize): void {
  const count = limitOf(node);
  store<u32>(node, count, N_STATE);
  if (count) beginMessage(node);
}

function limitPush(node: usize): void {
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
function end(node: usize, failedOff: usize, failedLen: u32): void {
  if (!limitOf(node)) {
    if (!failedOff) return;
    beginMessage(node);
  }
  endMessage(node, failedOff, failedLen);
}
