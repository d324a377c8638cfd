// What a window keeps, saved and loaded: the same for all kinds, then what only some have.
import { N_SPEC, N_STATE, accountOf } from '../flow/node';
import { WINDOW_COUNT_STEP, WINDOW_KIND, WindowKind } from '../agg/spec';
import { setLeave, setLoad, setSave } from '../agg/save';
import { LoadFault } from '../gen/state-layouts';
import { rowsLoad, rowsSave } from '../rows/save';
import { readF64, readFail, readFails, readU32, readVersion } from '../state/reader';
import { writeF64, writeU32, writeVersion } from '../state/writer';
import { frameEnter, frameLeave } from './frame';
import { lanesLeave } from './lanes';
import { panesLoad, panesSave } from './panes';
import { partitionsLoad, partitionsSave } from './partitions';
import { queueLoad, queueSave } from './queue';
import { stacksLoad, stacksSave } from './stacks';
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
  switch (load<u32>(spec, WINDOW_KIND)) {
    case WindowKind.HOPPING: panesSave(spec, state); break;
    case WindowKind.STATE: partitionsSave(<usize>load<u32>(state, W_PARTITIONS), spec, partitionSave); break;
    default: stacksSave(spec, state);
  }
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
  switch (load<u32>(spec, WINDOW_KIND)) {
    case WindowKind.HOPPING: panesLoad(node, spec, state); break;
    case WindowKind.STATE: partitionsLoad(<usize>load<u32>(state, W_PARTITIONS), spec, contentLoad); break;
    default: stacksLoad(node, spec, state);
  }
  return !readFails();
}

/** Partitions are many, and have few groups each. */
function partitionSave(spec: usize, state: usize): void {
  contentSave(spec, state, false);
}

/** What a window has itself, and each partition of a state window. `leaves`: its groups are changed by rows alone. */
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
