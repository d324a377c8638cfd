// Saving and loading the state of nodes and streams, part by part. The host names the parts, and tells them apart by
// identities: equal identities stand for equal work. No message is open between two inputs, so parts have no state of
// one.
//
//   part of a node     identity u64 | members (state/members.ts) | has a deadline u8 | deadline f64 (epoch ms) | what
//   its operator writes
//   part of a stream   identity u64 | unread bytes of its inlet | what its source writes
//
// Counters of rows, times and exceptions are accounts of a run and begin anew with it.
import { exhaust, isExhausted, setCurrent } from '../node/node';
import { isDeferred, leaveDeferred, leavePostponed } from '../node/deferred';
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

/** True for nodes that have a part; an exhausted node has none. */
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

/** Makes the node, with these members, a target of the part under way; false when there are too many targets. */
export function nodeTakes(node: usize, members: usize): bool {
  return loadTarget(node, members);
}

/**
 * Loads the part under way into its target nodes (`nodeTakes`): in place of their state, or with `adds` beside the
 * state of a part before. Returns a LoadFault; after a fault the nodes are empty, as new ones.
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

/** Empties the state of a node, as if the node were new. */
export function nodeEmpty(node: Node): void {
  clearDeadline(node);
  leaveDeferred(node);
  leavePostponed(node);
  freeOf(node);
  node.state = 0;
  if (!openOf(node)) {
    readFail(LoadFault.MEMORY);
    exhaust(node);
  }
}
