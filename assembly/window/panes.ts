// Hopping windows whose length is a multiple of the hop, with aggregates of fixed size: groups are kept for each hop (a
// pane) and joined when a window is sent, so that a row is taken in once however many windows it is in.
//
//   panes   count u32 | capacity u32 | 0 u64 | group sets of 112 bytes, oldest first        (W_STACKS of the state)
import { N_PROGRAM, accountOf } from '../flow/node';
import { allocZeroed, free, refusals } from '../mem/alloc';
import { span } from '../mem/layout';
import { isConst, tagsOf, valsOf } from '../ops/operand';
import {
  WINDOW_FLAGS, WINDOW_INPUTS, WINDOW_KIND, WINDOW_LENGTH, WINDOW_STEP, WindowFlag, WindowKind, allMergeable, inputOperand,
  setBind,
} from '../agg/spec';
import {
  GROUP_NEXT, SET_COUNT, SET_ERROR, SET_ERROR_LEN, SET_FIRST, SET_SIZE, isNew, regroup, setError, setFree, setInit, setReset,
} from '../agg/group';
import { keepOf, mergeGroup } from '../agg/merge';
import { setLoad, setSave } from '../agg/save';
import { readFails, readUpTo } from '../state/reader';
import { writeU32 } from '../state/writer';
import { sendGroups, sendNoMemory } from './output';
import { W_SET, W_STACKS } from './state';

const HEAD: u32 = 16;
const CAPACITY: usize = 4;
/** More panes than this cost more to join than rows to keep. */
const MAX_PANES: f64 = 1024;

/** True for windows that this serves. */
export function hasPanes(spec: usize): bool {
  if (load<u32>(spec, WINDOW_KIND) != WindowKind.HOPPING || !(load<u32>(spec, WINDOW_FLAGS) & WindowFlag.GROUPED)) return false;
  const count = load<f64>(spec, WINDOW_LENGTH) / load<f64>(spec, WINDOW_STEP);
  return count == floor(count) && count <= MAX_PANES && allMergeable(spec);
}

export function panesOpen(node: usize, spec: usize, state: usize): bool {
  const capacity = <u32>(load<f64>(spec, WINDOW_LENGTH) / load<f64>(spec, WINDOW_STEP));
  const panes = allocZeroed(HEAD + capacity * SET_SIZE, accountOf(node));
  if (!panes) return false;
  store<u32>(panes, capacity, CAPACITY);
  store<u32>(state, <u32>panes, W_STACKS);
  return true;
}

export function panesFree(node: usize, state: usize): void {
  const panes = <usize>load<u32>(state, W_STACKS);
  if (!panes) return;
  const count = load<u32>(panes);
  for (let i: u32 = 0; i < count; i++) setFree(paneAt(panes, i));
  free(panes, HEAD + load<u32>(panes, CAPACITY) * SET_SIZE, accountOf(node));
}

/** Saves the panes that have ended. */
export function panesSave(spec: usize, state: usize): void {
  const panes = <usize>load<u32>(state, W_STACKS);
  const count = load<u32>(panes);
  writeU32(count);
  for (let i: u32 = 0; i < count; i++) setSave(spec, paneAt(panes, i));
}

/** Adds saved panes; there must be none. */
export function panesLoad(node: usize, spec: usize, state: usize): void {
  const panes = <usize>load<u32>(state, W_STACKS);
  const count = readUpTo(load<u32>(panes, CAPACITY));
  for (let i: u32 = 0; i < count && !readFails(); i++) {
    setInit(paneAt(panes, i), accountOf(node));
    store<u32>(panes, i + 1);
    setLoad(spec, paneAt(panes, i));
  }
}

// @ts-ignore: decorator
@inline function paneAt(panes: usize, i: u32): usize {
  return panes + HEAD + <usize>(i * SET_SIZE);
}

/** True when neither the pane under way nor the others have rows or errors. */
export function panesAreVoid(state: usize): bool {
  const panes = <usize>load<u32>(state, W_STACKS);
  const count = load<u32>(panes);
  for (let i: u32 = 0; i < count; i++) {
    if (load<u32>(paneAt(panes, i), SET_COUNT) | load<u32>(paneAt(panes, i), SET_ERROR)) return false;
  }
  return (load<u32>(state + W_SET, SET_COUNT) | load<u32>(state + W_SET, SET_ERROR)) == 0;
}

/** Ends the pane under way and sends the window that ends with it. */
export function panesSend(node: usize, spec: usize, state: usize, start: f64, end: f64): void {
  const panes = <usize>load<u32>(state, W_STACKS);
  let count = load<u32>(panes);
  if (count == load<u32>(panes, CAPACITY)) {
    setFree(paneAt(panes, 0));
    count--;
    memory.copy(paneAt(panes, 0), paneAt(panes, 1), count * SET_SIZE);
  }
  const set = state + W_SET;
  memory.copy(paneAt(panes, count), set, SET_SIZE);
  store<u32>(panes, count + 1);
  setInit(set, accountOf(node));
  bindConstants(spec, <usize>load<u32>(node, N_PROGRAM));
  let ok = true;
  const before = refusals;
  for (let i: u32 = 0; i <= count && ok; i++) ok = join(spec, set, paneAt(panes, i));
  if (ok && refusals == before) sendGroups(node, spec, set, start, end, end);
  else sendNoMemory(node);
  setReset(set);
}

/** Adds the groups of a pane; false when memory is exhausted. */
function join(spec: usize, set: usize, pane: usize): bool {
  if (load<u32>(pane, SET_ERROR)) setError(set, span(<usize>load<u32>(pane, SET_ERROR), load<u32>(pane, SET_ERROR_LEN)));
  for (let from = <usize>load<u32>(pane, SET_FIRST); from; from = <usize>load<u32>(from, GROUP_NEXT)) {
    const group = regroup(spec, set, pane, from);
    if (!group) return false;
    if (isNew) keepOf(spec, group, from);
    mergeGroup(spec, set, group, from);
  }
  return true;
}

/** Parameters of aggregates are constants, which need no batch. */
function bindConstants(spec: usize, program: usize): void {
  const inputs = load<u32>(spec, WINDOW_INPUTS);
  for (let i: u32 = 0; i < inputs; i++) {
    const operand = inputOperand(spec, i);
    if (!isConst(operand)) continue;
    const tag = tagsOf(program, operand);
    setBind(i, valsOf(program, operand), tag, 0, load<u8>(tag));
  }
}
