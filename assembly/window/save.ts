// Saves and loads the state of a window: first the part that all kinds share, then the part of some kinds.
import { accountOf } from '../node/node';
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
import { panesLoad, panesSave, panesStay } from './panes/panes';
import { Partitions, partitionsLoad, partitionsSave } from './partitions/partitions';
import { queueLoad, queueSave } from './content/queue';
import { stacksLoad, stacksOpen, stacksPass, stacksSave } from './stacks/stacks';
import { WindowState, W_PARTITIONS } from './content/state';
import { Node } from '../gen/node-layouts';
import { WindowSpec } from '../gen/window-layouts';
import { PartitionTable } from '../partitions/table-slots';

const VERSION: u32 = 4;

/** Part of the state of a window besides its rows and groups. */
namespace Besides {
  export const NOTHING: u32 = 0;
  export const PANES: u32 = 1;
  export const PARTITIONS: u32 = 2;
  /** Stacks: partial aggregates made in advance from rows that are kept as well. */
  export const STACKS: u32 = 3;
}

function besides(spec: WindowSpec, state: WindowState): u32 {
  if (!state.stacks) return Besides.NOTHING;
  if (isPartitioned(spec)) return Besides.PARTITIONS;
  return hasFlag(spec, WindowFlag.PANES) ? Besides.PANES : Besides.STACKS;
}

export function windowSave(node: Node): void {
  const spec = changetype<WindowSpec>(node.spec);
  const state = changetype<WindowState>(node.state);
  // The content of vectors is saved in the form of stacks.
  if (state.vectors && frameEnter()) {
    vectorsLeave(node, spec, state);
    frameLeave();
  }
  writeVersion(VERSION);
  const form = besides(spec, state);
  writeU32(form);
  formSave(spec);
  contentSave(spec, state, !state.stacks || (form == Besides.PANES && panesStay(spec, state)));
  queueSave(state);
  switch (form) {
    case Besides.PANES:
      panesSave(spec, state);
      break;
    case Besides.PARTITIONS:
      partitionsSave(
        changetype<PartitionTable>(load<u32>(changetype<usize>(state), W_PARTITIONS)),
        spec,
        partitionSave,
      );
      break;
    case Besides.STACKS:
      stacksSave(spec, state);
      break;
    default:
  }
}

/** Fills a newly made window with saved state. */
export function windowLoad(node: Node): bool {
  if (!frameEnter()) {
    readFail(LoadFault.MEMORY);
    return false;
  }
  const isLoaded = loadAll(node);
  formEnd();
  frameLeave();
  return isLoaded;
}

function loadAll(node: Node): bool {
  const spec = changetype<WindowSpec>(node.spec);
  const state = changetype<WindowState>(node.state);
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
        partitionsLoad(
          node,
          changetype<Partitions>(load<u32>(changetype<usize>(state), W_PARTITIONS)),
          spec,
          partitionLoad,
        );
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

/** True when rows and groups have the form in which they were saved. */
function isAsSaved(): bool {
  return isSameForm && areSame(Members.ROWS);
}

/** Skips saved stacks that belong to other rows and groups; they are made again from the kept rows. */
function stacksLeave(spec: WindowSpec, state: WindowState): void {
  if (!keepsRows(spec)) readFail(LoadFault.DAMAGED);
  stacksPass(spec);
  setReset(state);
}

/** Saves one partition; a window has many of them, with few groups each. */
function partitionSave(spec: WindowSpec, part: WindowState): void {
  contentSave(spec, part, false);
  if (!hasFlag(spec, WindowFlag.QUEUES)) return;
  queueSave(part);
  const hasStacks = part.stacks != 0;
  writeBool(hasStacks);
  if (hasStacks) stacksSave(spec, part);
}

function partitionLoad(node: Node, spec: WindowSpec, part: WindowState): void {
  contentLoad(spec, part);
  const isTimed = isFinite(part.start) && isFinite(part.lastTime) && isFinite(part.tick);
  if (!isTimed) readFail(LoadFault.DAMAGED);
  if (!hasFlag(spec, WindowFlag.QUEUES)) return;
  queueLoad(part, accountOf(node));
  if (!readBool()) return;
  if (!isAsSaved()) stacksLeave(spec, part);
  else if (!hasFlag(spec, WindowFlag.STACKS)) readFail(LoadFault.DAMAGED);
  else if (stacksOpen(node, part)) stacksLoad(node, spec, part);
  else readFail(LoadFault.MEMORY);
}

/** Saves the content of a window, or of one of its partitions. `leaves`: only rows change its groups. */
function contentSave(spec: WindowSpec, state: WindowState, leaves: bool): void {
  writeF64(state.start);
  writeF64(state.end);
  writeF64(state.firstTime);
  writeF64(state.lastTime);
  writeF64(state.tick);
  writeU32(state.counter);
  writeU32(state.isOpen);
  if (leaves) setLeave(spec, state);
  else setSave(spec, state);
  rowsSave(state.kept);
}

function contentLoad(spec: WindowSpec, state: WindowState): void {
  state.start = readF64();
  state.end = readF64();
  state.firstTime = readF64();
  state.lastTime = readF64();
  state.tick = readF64();
  state.counter = readU32();
  state.isOpen = readU32();
  if (!isSound(spec, state)) readFail(LoadFault.DAMAGED);
  setLoad(spec, state);
  rowsLoad(state.kept, Members.ROWS);
}
