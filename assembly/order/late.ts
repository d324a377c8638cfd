// Rows that came too late for the eventTime node above. It hands them here instead of dropping them: the columns as
// they came, then the time of the row and how much earlier that is than the watermark was, both in ms. Nothing else
// comes by here: rows in time go to the other nodes below it alone.
import * as ctx from '../batch/context';
import { emit, give, signalBelow } from '../emit/emit';
import {
  N_CHILD,
  N_FLAGS,
  N_KIND,
  N_OUT,
  N_PARENT,
  N_SIBLING,
  N_SPEC,
  NodeFlag,
  NodeKind,
  setCurrent,
} from '../node/node';
import { Operator, Signal, Trait } from '../node/operator';
import { LATE_BRANCH } from '../gen/order-layouts';

export function lateOperator(operator: Operator): void {
  operator.open = lateOpen;
  operator.signal = lateSignal;
  operator.free = lateFree;
  operator.traits = Trait.ENDS_DEFERRING;
}

function lateOpen(node: usize): bool {
  const parent = <usize>load<u32>(node, N_PARENT);
  store<u16>(parent, load<u16>(parent, N_FLAGS) | <u16>NodeFlag.LATE, N_FLAGS);
  return true;
}

/** No message begins or ends here, and no window below waits for time. */
function lateSignal(node: usize, signal: u32, value: u64): void {
  if (signal == Signal.FLUSH) signalBelow(node, signal, value);
}

/** The last that goes takes the mark of its parent along. */
function lateFree(node: usize): void {
  const parent = <usize>load<u32>(node, N_PARENT);
  for (let child = <usize>load<u32>(parent, N_CHILD); child; child = <usize>load<u32>(child, N_SIBLING)) {
    if (child != node && isLate(child)) return;
  }
  store<u16>(parent, load<u16>(parent, N_FLAGS) & ~(<u16>NodeFlag.LATE), N_FLAGS);
}

// @ts-ignore: decorator
@inline function isLate(node: usize): bool {
  return load<u32>(node, N_KIND) == NodeKind.LATE;
}

/** The node below that takes late rows of the branch, 0 none. */
export function lateBelow(node: usize, branch: u32): usize {
  if (!(load<u32>(node, N_FLAGS) & NodeFlag.LATE)) return 0;
  let child = <usize>load<u32>(node, N_CHILD);
  while (child && !(isLate(child) && load<u32>(<usize>load<u32>(child, N_SPEC), LATE_BRANCH) == branch)) {
    child = <usize>load<u32>(child, N_SIBLING);
  }
  return child;
}

/** Hands the current batch, rows in time, to all nodes below but those. */
export function emitInTime(node: usize): void {
  if (!(load<u32>(node, N_FLAGS) & NodeFlag.LATE)) {
    emit(node);
    return;
  }
  const n = ctx.selLen;
  if (n == 0) return;
  store<u64>(node, load<u64>(node, N_OUT) + n, N_OUT);
  const cols = ctx.cols;
  const rows = ctx.rows;
  const sel = ctx.sel;
  const errors = ctx.rowErrors;
  for (let child = <usize>load<u32>(node, N_CHILD); child; child = <usize>load<u32>(child, N_SIBLING)) {
    if (isLate(child)) continue;
    give(child, n);
    ctx.setBatch(cols, rows, sel, n, errors);
  }
  setCurrent(node);
}
