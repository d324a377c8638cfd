// Several streams as one sequence: ports (join/merge/port.ts) stand below the streams and give their rows to a merge
// node, which is a root of its own and passes them on. Here the watermarks of the inputs meet: time has come as far as
// on the slowest one of those that are not idle; when all are, as far as on the fastest.
//
//   state   watermark f64 (the last that was passed on) | f64[branches] | isIdle u8[branches]
//
// The idle flags are not saved: after a start no branch is idle.
import * as ctx from '../../batch/context';
import { signalBelow } from '../../emit/emit';
import { accountOf } from '../../node/node';
import { Operator, Signal, Trait } from '../../node/operator';
import { MergeSpec, MergeBranch, MERGE_BRANCH_SIZE_OF, MERGE_SIZE_OF } from '../../gen/join-layouts';
import { allocZeroed, free } from '../../mem/alloc';
import { readF64, readFails, readVersion } from '../../state/reader';
import { writeF64, writeVersion } from '../../state/writer';
import { Node } from '../../gen/node-layouts';

export function mergeOperator(operator: Operator): void {
  operator.open = mergeOpen;
  operator.signal = mergeSignal;
  operator.save = mergeSave;
  operator.load = mergeLoad;
  operator.free = mergeFree;
  operator.traits = Trait.JOINS_STREAMS;
}

function mergeOpen(node: Node): bool {
  const branches = changetype<MergeSpec>(node.spec).branches;
  const size = 8 + branches * 9;
  const state = allocZeroed(size, accountOf(node));
  if (!state) return false;
  for (let i: u32 = 0; i <= branches; i++) store<f64>(state + ((<usize>i) << 3), -Infinity);
  node.state = state;
  node.stateSize = size;
  return true;
}

function mergeSignal(node: Node, signal: u32, value: u64): void {
  const state = node.state;
  const branches = changetype<MergeSpec>(node.spec).branches;
  const isIdle = signal == Signal.IDLE;
  if (!isIdle && signal != Signal.WATERMARK) {
    signalBelow(node, signal, value);
    return;
  }
  store<u8>(idleAt(state, branches, ctx.branch), <u8>isIdle);
  if (!isIdle) store<f64>(state + ((<usize>ctx.branch) << 3), reinterpret<f64>(value), 8);
  meet(node, state, branches);
}

// @ts-ignore: decorator
@inline function idleAt(state: usize, branches: u32, branch: u32): usize {
  return state + 8 + ((<usize>branches) << 3) + branch;
}

/** When time has come further than before on all branches that count, passes that on. */
function meet(node: Node, state: usize, branches: u32): void {
  let least: f64 = Infinity;
  let most: f64 = -Infinity;
  for (let i: u32 = 0; i < branches; i++) {
    const ms = load<f64>(state + ((<usize>i) << 3), 8);
    most = max(most, ms);
    if (!load<u8>(idleAt(state, branches, i))) least = min(least, ms);
  }
  const areIdle = least == Infinity;
  const ms = areIdle ? most : least;
  if (ms > load<f64>(state)) {
    store<f64>(state, ms);
    signalBelow(node, Signal.WATERMARK, reinterpret<u64>(ms));
  }
  if (areIdle) signalBelow(node, Signal.IDLE, 0);
}

const VERSION: u32 = 1;

/** Saves how far time has come on each branch. */
function mergeSave(node: Node): void {
  const state = node.state;
  const branches = changetype<MergeSpec>(node.spec).branches;
  writeVersion(VERSION);
  for (let i: u32 = 0; i <= branches; i++) writeF64(load<f64>(state + ((<usize>i) << 3)));
}

function mergeLoad(node: Node): bool {
  if (!readVersion(VERSION)) return false;
  const state = node.state;
  const branches = changetype<MergeSpec>(node.spec).branches;
  for (let i: u32 = 0; i <= branches; i++) store<f64>(state + ((<usize>i) << 3), readF64());
  return !readFails();
}

function mergeFree(node: Node): void {
  free(node.state, node.stateSize, accountOf(node));
}

/** Columns of a batch of the merge below the port. */
export function mergeWidth(port: Node): u32 {
  return specBelow(port).columns;
}

/** First column of the branch in a batch of the merge below the port. */
export function mergeFirst(port: Node, branch: u32): u32 {
  return load<u32>(
    changetype<usize>(specBelow(port)) + branch * MERGE_BRANCH_SIZE_OF,
    <usize>MERGE_SIZE_OF + offsetof<MergeBranch>('first'),
  );
}

// @ts-ignore: decorator
@inline function specBelow(port: Node): MergeSpec {
  return changetype<MergeSpec>(port.child.spec);
}
