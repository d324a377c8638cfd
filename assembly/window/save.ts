// What a window keeps, saved and loaded: the same for all kinds, then what only some have.
import { N_SPEC, N_STATE, accountOf } from '../flow/node';
import { WINDOW_COUNT_STEP, WINDOW_KIND, WindowKind, isPartitioned } from '../agg/spec';
import { setLeave, setLoad, setSave } from '../agg/save';
import { LoadFault } from '../gen/state-layouts';
import { rowsLoad, rowsSave } from '../rows/save';
import { readBool, readF64, readFail, readFails, readU32, readVersion } from '../state/reader';
import { writeBool, writeF64, writeU32, writeVersion } from '../state/writer';
import { frameEnter, frameLeave } from './frame';
import { keyedArrange } from './keyed';
import { lanesLeave } from './lanes';
import { panesLoad, panesSave } from './panes';
import { partitionsLoad, partitionsSave } from './partitions';
import { queueLoad, queueSave } from './queue';
import { canStack, stacksLoad, stacksOpen, stacksSave } from './stacks';
import {
  W_COUNTER, W_END, W_FIRST, W_LANES, W_LAST, W_OPEN, W_PARTITIONS, W_ROWS, W_SET, W_STACKS, W_START, W_TICK,
} from './state';

const VERSION: u32 = 2;

export function windowSave(node: usize): void {
  const spec = <usize>load<u32>(node, N_SPEC);
  const state = <usize>load<u32>(node, N_STATE);
  // What lanes hold is saved as what the stacks would.
  if (load<u32>(state, W_LANES) && frameEnter()) {
    lanesLeave(node, spec, state);
    frameLeave();
  }
  writeVersion(VERSION);
  contentSave(spec, state, !load<u32>(state, W_STACKS));
  queueSave(state);
  if (!load<u32>(state, W_STACKS)) return;
  if (isPartitioned(spec)) partitionsSave(<usize>load<u32>(state, W_PARTITIONS), spec, partitionSave);
  else if (load<u32>(spec, WINDOW_KIND) == WindowKind.HOPPING) panesSave(spec, state);
  else stacksSave(spec, state);
}

/** Fills a window that was just made. */
export function windowLoad(node: usize): bool {
  if (!frameEnter()) {
    readFail(LoadFault.MEMORY);
    return false;
  }
  const isLoaded = loadAll(node);
  frameLeave();
  return isLoaded;
}

function loadAll(node: usize): bool {
  const spec = <usize>load<u32>(node, N_SPEC);
  const state = <usize>load<u32>(node, N_STATE);
  if (!readVersion(VERSION)) return false;
  contentLoad(spec, state);
  queueLoad(state, accountOf(node));
  if (!load<u32>(state, W_STACKS)) return !readFails();
  if (isPartitioned(spec)) {
    partitionsLoad(node, <usize>load<u32>(state, W_PARTITIONS), spec, partitionLoad);
    if (!readFails()) keyedArrange(node, spec, state);
  } else if (load<u32>(spec, WINDOW_KIND) == WindowKind.HOPPING) panesLoad(node, spec, state);
  else stacksLoad(node, spec, state);
  return !readFails();
}

/** True for windows whose partitions may have times or sums in advance that wait. */
// @ts-ignore: decorator
@inline function mayWait(spec: usize): bool {
  const kind = load<u32>(spec, WINDOW_KIND);
  return kind == WindowKind.SLIDING || kind == WindowKind.COUNT;
}

/** Partitions are many, and have few groups each. */
function partitionSave(spec: usize, part: usize): void {
  contentSave(spec, part, false);
  if (!mayWait(spec)) return;
  queueSave(part);
  const hasStacks = load<u32>(part, W_STACKS) != 0;
  writeBool(hasStacks);
  if (hasStacks) stacksSave(spec, part);
}

function partitionLoad(node: usize, spec: usize, part: usize): void {
  contentLoad(spec, part);
  const isTimed = isFinite(load<f64>(part, W_START)) && isFinite(load<f64>(part, W_LAST)) && isFinite(load<f64>(part, W_TICK));
  if (!isTimed) readFail(LoadFault.DAMAGED);
  if (!mayWait(spec)) return;
  queueLoad(part, accountOf(node));
  if (!readBool()) return;
  if (!canStack(spec)) readFail(LoadFault.DAMAGED);
  else if (stacksOpen(node, part)) stacksLoad(node, spec, part);
  else readFail(LoadFault.MEMORY);
}

/** What a window has itself, and each partition of one. `leaves`: its groups are changed by rows alone. */
function contentSave(spec: usize, state: usize, leaves: bool): void {
  writeF64(load<f64>(state, W_START));
  writeF64(load<f64>(state, W_END));
  writeF64(load<f64>(state, W_FIRST));
  writeF64(load<f64>(state, W_LAST));
  writeF64(load<f64>(state, W_TICK));
  writeU32(load<u32>(state, W_COUNTER));
  writeU32(load<u32>(state, W_OPEN));
  if (leaves) setLeave(spec, state + W_SET);
  else setSave(spec, state + W_SET);
  rowsSave(state + W_ROWS);
}

function contentLoad(spec: usize, state: usize): void {
  store<f64>(state, readF64(), W_START);
  store<f64>(state, readF64(), W_END);
  store<f64>(state, readF64(), W_FIRST);
  store<f64>(state, readF64(), W_LAST);
  store<f64>(state, readF64(), W_TICK);
  store<u32>(state, readU32(), W_COUNTER);
  store<u32>(state, readU32(), W_OPEN);
  // Rows are counted up to the step.
  if (load<u32>(spec, WINDOW_KIND) == WindowKind.COUNT && load<u32>(state, W_COUNTER) >= load<u32>(spec, WINDOW_COUNT_STEP)) {
    readFail(LoadFault.DAMAGED);
  }
  setLoad(spec, state + W_SET);
  rowsLoad(state + W_ROWS);
}
