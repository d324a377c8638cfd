// Rows that came too late for the eventTime node above, which hands them here instead of dropping them. They have the
// columns as they came, then the time of the row and its distance from the watermark, both in ms. Only late rows come
// here; rows in time go to the other nodes below alone.
import * as ctx from '../batch/context';
import { emit, give, signalBelow } from '../emit/emit';
import { NodeFlag, NodeKind, setCurrent } from '../node/node';
import { Operator, Signal, Trait } from '../node/operator';
import { Node } from '../gen/node-layouts';
import { LateSpec } from '../gen/order-layouts';

export function lateOperator(operator: Operator): void {
  operator.open = lateOpen;
  operator.signal = lateSignal;
  operator.free = lateFree;
  operator.traits = Trait.ENDS_DEFERRING;
}

function lateOpen(node: Node): bool {
  const parent = node.parent;
  store<u16>(
    changetype<usize>(parent),
    load<u16>(changetype<usize>(parent), offsetof<Node>('flags')) | <u16>NodeFlag.LATE,
    offsetof<Node>('flags'),
  );
  return true;
}

/** Passes on FLUSH alone: no message begins or ends here, and no window below waits for watermarks. */
function lateSignal(node: Node, signal: u32, value: u64): void {
  if (signal == Signal.FLUSH) signalBelow(node, signal, value);
}

/** Clears the flag of the parent when the last node for late rows goes. */
function lateFree(node: Node): void {
  const parent = node.parent;
  for (let child = parent.child; child; child = child.sibling) {
    if (child != node && isLate(child)) return;
  }
  store<u16>(
    changetype<usize>(parent),
    load<u16>(changetype<usize>(parent), offsetof<Node>('flags')) & ~(<u16>NodeFlag.LATE),
    offsetof<Node>('flags'),
  );
}

// @ts-ignore: decorator
@inline function isLate(node: Node): bool {
  return node.kind == NodeKind.LATE;
}

/** The node below that takes late rows of the branch, 0 none. */
export function lateBelow(node: Node, branch: u32): Node {
  if (!(node.flags & NodeFlag.LATE)) return changetype<Node>(0);
  let child = node.child;
  while (child && !(isLate(child) && changetype<LateSpec>(child.spec).branch == branch)) {
    child = child.sibling;
  }
  return child;
}

/** Hands the current batch of rows in time to all nodes below that do not take late rows. */
export function emitInTime(node: Node): void {
  if (!(node.flags & NodeFlag.LATE)) {
    emit(node);
    return;
  }
  const n = ctx.selLen;
  if (n == 0) return;
  node.out += n;
  const cols = ctx.cols;
  const rows = ctx.rows;
  const sel = ctx.sel;
  const errors = ctx.rowErrors;
  for (let child = node.child; child; child = child.sibling) {
    if (isLate(child)) continue;
    give(child, n);
    ctx.setBatch(cols, rows, sel, n, errors);
  }
  setCurrent(node);
}
