// Stands in for flow/kinds.ts when the stateful operators are tested alone: below them is a probe that hands everything
// to the test.
import { NodeKind, N_KIND } from './node';
import { eventTimePush } from '../window/event-time';
import { sortBegin, sortEnd, sortPush } from '../window/sort';
import { windowPush } from '../window/window';

// @ts-ignore: decorator
@external('probe', 'rows') declare function probeRows(node: u32): void;
// @ts-ignore: decorator
@external('probe', 'begin') declare function probeBegin(node: u32): void;
// @ts-ignore: decorator
@external('probe', 'end') declare function probeEnd(node: u32, failedOff: u32, failedLen: u32): void;

export function openOf(_node: usize): bool {
  return true;
}

export function pushTo(node: usize): void {
  switch (load<u32>(node, N_KIND)) {
    case NodeKind.WINDOW: windowPush(node); return;
    case NodeKind.EVENT_TIME: eventTimePush(node); return;
    case NodeKind.SORT: sortPush(node); return;
    default: probeRows(<u32>node);
  }
}

export function beginOf(node: usize): void {
  if (load<u32>(node, N_KIND) == NodeKind.SORT) sortBegin(node);
  else probeBegin(<u32>node);
}

export function endOf(node: usize, failedOff: usize, failedLen: u32): void {
  if (load<u32>(node, N_KIND) == NodeKind.SORT) sortEnd(node, failedOff, failedLen);
  else probeEnd(<u32>node, <u32>failedOff, failedLen);
}
