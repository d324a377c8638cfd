// Exports of the test kernel of the stateful operators (test/support/kernel/window-kernel.ts). Below them is a probe, a
// kind of operator that hands everything to the test.
import { signalBelow } from '../emit/emit';
import { NodeKind } from '../node/node';
import { Operator, Signal, operatorOf } from '../node/operator';
import { lenOf, offOf } from '../mem/layout';
import { eventTimeOperator } from '../order/event-time';
import { sortOperator } from '../order/sort';
import { windowOperator } from '../window/window';
import { Node } from '../gen/node-layouts';

export { alloc, free, bytesInUse } from '../mem/alloc';
export { contextInit, setBatch, setNow, scratchReset, cols, rows, sel, selLen, rowErrors } from '../batch/context';
export { stageInit } from '../batch/stage';
export { nodeNew, nodeRelease } from '../node/node';
export { nextDeadline, takeDue } from '../node/timers';
export { windowOpen, windowPush, windowTick, windowFree } from '../window/window';
export { eventTimeOpen, eventTimePush, eventTimeDropped, eventTimeFree } from '../order/event-time';
export { sortOpen, sortPush, sortFree } from '../order/sort';
export { emit, signalTo } from '../emit/emit';

// @ts-ignore: decorator
@external('probe', 'rows') declare function probeRows(node: Node): void;
// @ts-ignore: decorator
@external('probe', 'begin') declare function probeBegin(node: Node): void;
// @ts-ignore: decorator
@external('probe', 'end') declare function probeEnd(node: Node, failedOff: u32, failedLen: u32): void;

const PROBE: u32 = 31;

function probeOperator(operator: Operator): void {
  operator.push = (node: Node): void => probeRows(node);
  operator.signal = (node: Node, signal: u32, value: u64): void => {
    if (signal == Signal.BEGIN) probeBegin(node);
    else if (signal == Signal.END) probeEnd(node, <u32>offOf(value), lenOf(value));
    else signalBelow(node, signal, value);
  };
}

export function operatorsInit(): void {
  windowOperator(operatorOf(NodeKind.WINDOW));
  eventTimeOperator(operatorOf(NodeKind.EVENT_TIME));
  sortOperator(operatorOf(NodeKind.SORT));
  probeOperator(operatorOf(PROBE));
}
