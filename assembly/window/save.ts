// What a window keeps, saved and loaded: the same for all kinds, then what only some have.
import { N_SPEC, N_STATE, accountOf } from '../node/node';
import { WindowFlag, hasFlag, isPartitioned } from '../agg/group/spec';
import { setReset } from '../agg/group/group';
import { setLeave, setLoad, setSave } from '../agg/save/save';
import { formEnd, formLoad, formSave, isSameForm } from '../agg/save/form';
import { LoadFault } from '../gen/state-layouts';
import { rowsLoad, rowsSave } from '../rows/save';
import { Members, areSame } from '../state/members';
import { readBool, readF64, readFail, readFails, readU32, readVersion } from '../state/reader';
import { writeBool, writeF64, writeU32, writeVersion } from '../state/writer';
import { keepsRows } from './content/content';
import { frameEnter, frameLeave } from './content/frame';
import { isSound } from './kinds/kind';
import { keyedArrange } from './partitions/keyed';
import { vectorsLeave } from './stacks/vectors';
import { panesLoad, panesSave } from './panes/panes';
import { partitionsLoad, partitionsSave } from './partitions/partitions';
import { queueLoad, queueSave } from './content/queue';
import { stacksLoad, stacksOpen, stacksPass, stacksSave } from './stacks/stacks';
import {
  W_COUNTER,
  W_END,
  W_FIRST,
  W_VECTORS,
  W_LAST,
  W_OPEN,
  W_PARTITIONS,
  W_ROWS,
  W_SET,
  W_STACKS,
  W_START,
  W_TICK,
} from './content/state';

const VERSION: u32 = 4;

/** What a window has besides its rows and groups. */
namespace Besides {
  export const NOTHING: u32 = 0;
  export const PANES: u32 = 1;
  export const PARTITIONS: u32 = 2;
  /** Groups are made in advance of rows that are kept as well. */
  export const STACKS: u32 = 3;
}

function besides(spec: usize, state: usize): u32 {
  if (!load<u32>(state, W_STACKS)) return Besides.NOTHING;
  if (isPartitioned(spec)) return Besides.PARTITIONS;
  return hasFlag(spec, WindowFlag.PANES) ? Besides.PANES : Besides.STACKS;
}

export function windowSave(node: usize): void {
  const spec = <usize>load<u32>(node, N_SPEC);
  const state = <usize>load<u32>(node, N_STATE);
  // What vectors hold is saved as what the stacks would.
  if (load<u32>(state, W_VECTORS) && frameEnter()) {
    vectorsLeave(node, spec, state);
    frameLeave();
  }
  writeVersion(VERSION);
  const form = besides(spec, state);
  writeU32(form);
  formSave(spec);
  contentSave(spec, state, !load<u32>(state, W_STACKS));
  queueSave(state);
  switch (form) {
    case Besides.PANES:
      panesSave(spec, state);
      break;
    case Besides.PARTITIONS:
      partitionsSave(<usize>load<u32>(state, W_PARTITIONS), spec, partitionSave);
      break;
    case Besides.STACKS:
      stacksSave(spec, state);
      break;
    default:
  }
}

/** Fills a window that was just made. */
export function windowLoad(node: usize): bool {
  if (!frameEnter()) {
    readFail(LoadFault.MEMORY);
    return false;
  }
  const isLoaded = loadAll(node);
  formEnd();
  frameLeave();
  return isLoaded;
}

function loadAll(node: usize): bool {
  const spec = <usize>load<u32>(node, N_SPEC);
  const state = <usize>load<u32>(node, N_STATE);
  if (!readVersion(VERSION)) return false;
  const saved = readU32();
  const own = besides(spec, state);
  // With another aggregate a window may have to keep rows that had panes before.
  if (saved != own && (saved == Besides.PANES || own == Besides.PANES)) readFail(LoadFault.OTHER);
  formLoad(spec);
  contentLoad(spec, state);
  queueLoad(state, accountOf(node));
  switch (saved) {
    case Besides.NOTHING:
      break;
    case Besides.PANES:
      panesLoad(node, spec, state);
      break;
    case Besides.PARTITIONS:
      if (own == saved) {
        partitionsLoad(node, <usize>load<u32>(state, W_PARTITIONS), spec, partitionLoad);
        if (!readFails()) keyedArrange(node, spec, state);
      } else readFail(LoadFault.DAMAGED);
      break;
    case Besides.STACKS:
      if (own == saved && isAsSaved()) stacksLoad(node, spec, state);
      else stacksLeave(spec, state);
      break;
    default:
      readFail(LoadFault.DAMAGED);
  }
  return !readFails();
}

/** Rows and groups are those that were saved. */
function isAsSaved(): bool {
  return isSameForm && areSame(Members.ROWS);
}

/** Passes by what was made in advance of other rows and groups: it is made again of the rows that are kept. */
function stacksLeave(spec: usize, state: usize): void {
  if (!keepsRows(spec)) readFail(LoadFault.DAMAGED);
  stacksPass(spec);
  setReset(state + W_SET);
}

/** Partitions are many, and have few groups each. */
function partitionSave(spec: usize, part: usize): void {
  contentSave(spec, part, false);
  if (!hasFlag(spec, WindowFlag.QUEUES)) return;
  queueSave(part);
  const hasStacks = load<u32>(part, W_STACKS) != 0;
  writeBool(hasStacks);
  if (hasStacks) stacksSave(spec, part);
}

function partitionLoad(node: usize, spec: usize, part: usize): void {
  contentLoad(spec, part);
  const isTimed =
    isFinite(load<f64>(part, W_START)) && isFinite(load<f64>(part, W_LAST)) && isFinite(load<f64>(part, W_TICK));
  if (!isTimed) readFail(LoadFault.DAMAGED);
  if (!hasFlag(spec, WindowFlag.QUEUES)) return;
  queueLoad(part, accountOf(node));
  if (!readBool()) return;
  if (!isAsSaved()) stacksLeave(spec, part);
  else if (!hasFlag(spec, WindowFlag.STACKS)) readFail(LoadFault.DAMAGED);
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
  if (!isSound(spec, state)) readFail(LoadFault.DAMAGED);
  setLoad(spec, state + W_SET);
  rowsLoad(state + W_ROWS, Members.ROWS);
}
