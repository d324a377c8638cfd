// Passes the first rows of each message. A row of a stream is a message of its own, so there only LIMIT 0 has an
// effect.
//
//   state   none; `state` itself holds the rows that may still pass in the message under way
import * as ctx from '../batch/context';
import { beginMessage, emit, endMessage, signalBelow } from '../emit/emit';
import { NodeFlag } from '../node/node';
import { Operator, Signal } from '../node/operator';
import { lenOf, offOf } from '../mem/layout';
import { Node } from '../gen/node-layouts';
import { LimitSpec } from '../gen/operators-layouts';

export function limitOperator(operator: Operator): void {
  operator.push = limitPush;
  operator.signal = limitSignal;
}

// @ts-ignore: decorator
@inline function limitOf(node: Node): u32 {
  return changetype<LimitSpec>(node.spec).count;
}

function limitSignal(node: Node, signal: u32, value: u64): void {
  if (signal == Signal.BEGIN) begin(node);
  else if (signal == Signal.END) end(node, offOf(value), lenOf(value));
  else signalBelow(node, signal, value);
}

function begin(node: Node): void {
  const count = limitOf(node);
  node.state = count;
  if (count) beginMessage(node);
}

function limitPush(node: Node): void {
  if (!(node.flags & NodeFlag.MESSAGES)) {
    if (limitOf(node)) emit(node);
    return;
  }
  const left = node.state;
  if (!left) return;
  const n = min(left, ctx.selLen);
  node.state = left - n;
  ctx.setSelection(ctx.sel, n);
  emit(node);
}

/** Ends a message. With a limit of 0 no message has begun, but a failure is passed on, with its own begin. */
function end(node: Node, failedOff: usize, failedLen: u32): void {
  if (!limitOf(node)) {
    if (!failedOff) return;
    beginMessage(node);
  }
  endMessage(node, failedOff, failedLen);
}
