// Several streams as one sequence: ports (join/port.ts) stand below the streams and give their rows to a merge node, which is
// a root of its own and passes them on. Here the watermarks of the inputs meet: time has come as far as on the slowest one.
//
//   state   watermark f64 (the last that was passed on) | f64[branches]
import * as ctx from '../flow/context';
import { signalBelow } from '../flow/emit';
import { N_CHILD, N_SPEC, N_STATE, N_STATE_SIZE, accountOf } from '../flow/node';
import { Operator, Signal } from '../flow/operator';
import { MERGE_BRANCH_FIRST, MERGE_BRANCH_SIZE_OF, MERGE_BRANCHES, MERGE_COLUMNS, MERGE_SIZE_OF } from '../gen/join-layouts';
import { alloc, free } from '../mem/alloc';
import { readF64, readFails, readVersion } from '../state/reader';
import { writeF64, writeVersion } from '../state/writer';

export function mergeOperator(operator: Operator): void {
  operator.open = mergeOpen;
  operator.signal = mergeSignal;
  operator.save = mergeSave;
  operator.load = mergeLoad;
  operator.free = mergeFree;
}

function mergeOpen(node: usize): bool {
  const branches = load<u32>(<usize>load<u32>(node, N_SPEC), MERGE_BRANCHES);
  const size = 8 + (branches << 3);
  const state = alloc(size, accountOf(node));
  if (!state) return false;
  for (let i: u32 = 0; i <= branches; i++) store<f64>(state + (<usize>i << 3), -Infinity);
  store<u32>(node, <u32>state, N_STATE);
  store<u32>(node, size, N_STATE_SIZE);
  return true;
}

function mergeSignal(node: usize, signal: u32, value: u64): void {
  if (signal == Signal.WATERMARK) meet(node, reinterpret<f64>(value));
  else signalBelow(node, signal, value);
}

/** Notes how far time has come on the branch at work; when all have come further than before, passes that on. */
function meet(node: usize, ms: f64): void {
  const state = <usize>load<u32>(node, N_STATE);
  const branches = load<u32>(<usize>load<u32>(node, N_SPEC), MERGE_BRANCHES);
  store<f64>(state + (<usize>ctx.branch << 3), ms, 8);
  let least = ms;
  for (let i: u32 = 0; i < branches; i++) least = min(least, load<f64>(state + (<usize>i << 3), 8));
  if (least <= load<f64>(state)) return;
  store<f64>(state, least);
  signalBelow(node, Signal.WATERMARK, reinterpret<u64>(least));
}

const VERSION: u32 = 1;

/** Saves how far time has come on each branch. */
function mergeSave(node: usize): void {
  const state = <usize>load<u32>(node, N_STATE);
  const branches = load<u32>(<usize>load<u32>(node, N_SPEC), MERGE_BRANCHES);
  writeVersion(VERSION);
  for (let i: u32 = 0; i <= branches; i++) writeF64(load<f64>(state + (<usize>i << 3)));
}

function mergeLoad(node: usize): bool {
  if (!readVersion(VERSION)) return false;
  const state = <usize>load<u32>(node, N_STATE);
  const branches = load<u32>(<usize>load<u32>(node, N_SPEC), MERGE_BRANCHES);
  for (let i: u32 = 0; i <= branches; i++) store<f64>(state + (<usize>i << 3), readF64());
  return !readFails();
}

function mergeFree(node: usize): void {
  free(<usize>load<u32>(node, N_STATE), load<u32>(node, N_STATE_SIZE), accountOf(node));
}

/** Columns of a batch of the merge below the port. */
export function mergeWidth(port: usize): u32 {
  return load<u32>(specBelow(port), MERGE_COLUMNS);
}

/** The first of them that is the branch's. */
export function mergeFirst(port: usize, branch: u32): u32 {
  return load<u32>(specBelow(port) + branch * MERGE_BRANCH_SIZE_OF, <usize>MERGE_SIZE_OF + MERGE_BRANCH_FIRST);
}

// @ts-ignore: decorator
@inline function specBelow(port: usize): usize {
  return <usize>load<u32>(<usize>load<u32>(port, N_CHILD), N_SPEC);
}
