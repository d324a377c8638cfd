// Stands in for flow/kinds.ts when the stateful operators are tested alone: below them is a probe that hands everything
// to the test.
import { NodeKind } from './node';
import { windowPush } from '../window/window';

// @ts-ignore: decorator
@external('probe', 'rows') declare function probeRows(node: u32): void;
// @ts-ignore: decorator
@external('probe', 'begin') declare function probeBegin(node: u32): void;
// @ts-ignore: decorator
@external('probe', 'end') declare function probeEnd(node: u32, failedOff: u32, failedLen: u32): void;

export function pushTo(node: usize): void {
  switch (load<u32>(node)) {
    case NodeKind.WINDOW: windowPush(node); return;
    default: probeRows(<u32>node);
  }
}

export function beginOf(node: usize): void {
  probeBegin(<u32>node);
}

export function endOf(node: usize, failedOff: usize, failedLen: u32): void {
  probeEnd(<u32>node, <u32>failedOff, failedLen);
}
