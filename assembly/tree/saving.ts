// Saving and loading what nodes and streams keep, part by part; the host says which, and tells parts by identities:
// equal ones are of equal work. Between two inputs no message is open, so what operators hold of one is no part of it.
//
//   part of a node     identity u64 | members (state/members.ts) | has a deadline u8 | deadline f64 (epoch ms) | what
//   its operator writes
//   part of a stream   identity u64 | unread bytes of its inlet | what its source writes
//
// Counters of rows, times and exceptions are accounts of a run and begin anew with it.
import { exhaust, isExhausted, setCurrent } from '../node/node';
import { isDeferred, leaveDeferred } from '../node/deferred';
import { freeOf, loadOf, openOf, saveOf, saves } from '../node/operator';
import { resetInput } from './feed';
import { Inlet, inletLoad, inletSave } from './inlet';
import { clearDeadline, setDeadline } from '../node/timers';
import { refusals } from '../mem/alloc';
import { sourceLoad, sourceSave } from '../source/save';
import { LoadFault } from '../gen/state-layouts';
import { loadTarget, membersEnd, membersLoad, membersSave, targetCount, targetNode } from '../state/members';
import { loadFault, partEnds, readBool, readF64, readFail, readFails } from '../state/reader';
import { partBegin, partEnd, writeBool, writeF64 } from '../state/writer';
import { Node } from '../gen/node-layouts';

/** True for nodes that have a part. One whose state could not grow is at its end. */
export function nodeKeeps(node: Node): bool {
  return saves(node) && node.state != 0 && !isExhausted(node);
}

/** Writes the part of a node that has one; `members` are its members, 0 without keys (state/members.ts). */
export function nodeSave(node: Node, identity: u64, members: usize): void {
  assert(!isDeferred(node), 'a node is saved in the middle of its work');
  setCurrent(node);
  partBegin(identity);
  membersSave(members);
  const hasDeadline = node.heap != 0;
  writeBool(hasDeadline);
  if (hasDeadline) writeF64(node.deadline);
  saveOf(node);
  partEnd();
  setCurrent(changetype<Node>(0));
}

/** Writes the part of a stream. */
export function streamSave(root: Node, inlet: Inlet, identity: u64): void {
  setCurrent(root);
  partBegin(identity);
  inletSave(inlet);
  sourceSave(root);
  partEnd();
  setCurrent(changetype<Node>(0));
}

/** The part under way is for the node as well, whose members are given. False: it can't be for so many. */
export function nodeTakes(node: usize, members: usize): bool {
  return loadTarget(node, members);
}

/**
 * Puts what the part under way holds in place of what the nodes keep that it is for (`nodeTakes`), or with `adds`
 * beside what a part before has brought. Returns a LoadFault; the nodes are empty then, as those that were just made.
 */
export function nodeLoad(adds: bool): u32 {
  const before = refusals;
  const node = targetNode(0);
  setCurrent(node);
  if (!adds) targetsEmpty();
  membersLoad();
  const hasDeadline = readBool();
  const deadline = hasDeadline ? readF64() : 0;
  if (!readFails() && !loadOf(node)) readFail(LoadFault.DAMAGED);
  for (let i: u32 = 0; i < targetCount(); i++) {
    clearDeadline(targetNode(i));
    if (hasDeadline && !readFails() && !setDeadline(targetNode(i), deadline)) readFail(LoadFault.MEMORY);
  }
  if (refusals != before) readFail(LoadFault.MEMORY);
  if (!partEnds()) targetsEmpty();
  membersEnd();
  setCurrent(changetype<Node>(0));
  return loadFault;
}

function targetsEmpty(): void {
  for (let i: u32 = 0; i < targetCount(); i++) nodeEmpty(targetNode(i));
}

/** As `nodeLoad` for a stream. */
export function streamLoad(root: Node, inlet: Inlet): u32 {
  setCurrent(root);
  resetInput(root, inlet);
  inletLoad(inlet);
  sourceLoad(root);
  if (!partEnds()) resetInput(root, inlet);
  setCurrent(changetype<Node>(0));
  return loadFault;
}

/** Makes a node as one that was just added. */
export function nodeEmpty(node: Node): void {
  clearDeadline(node);
  leaveDeferred(node);
  freeOf(node);
  node.state = 0;
  if (!openOf(node)) {
    readFail(LoadFault.MEMORY);
    exhaust(node);
  }
}
