// The nodes below a root that hold rows for a batch, as a list that begins at the root: nobody has to ask all nodes.

/** Puts the node into the list of its root, if it isn't there. */
import { Node } from '../gen/node-layouts';
import { Gather } from './gather-buffer';
export function enlist(node: Node, state: Gather): void {
  if (state.place) return;
  let root = node;
  for (let above = node; above; above = above.parent) root = above;
  const next = root.gathering;
  root.gathering = node;
  state.place = <u32>(changetype<usize>(root) + offsetof<Node>('gathering'));
  state.next = next;
  if (next) changetype<Gather>(next.state).place = <u32>(changetype<usize>(state) + offsetof<Gather>('next'));
}

/** Puts nodes that hold rows below another root now into its list; `old`: the root whose list they are in. */
export function gatheringMoved(old: Node): void {
  for (let node = gatheringFirst(old); node; ) {
    const next = gatheringNext(node);
    const state = changetype<Gather>(node.state);
    delist(state);
    state.next = changetype<Node>(0);
    enlist(node, state);
    node = next;
  }
}

/** Takes the node out of the list. */
export function delist(state: Gather): void {
  const place = <usize>state.place;
  if (!place) return;
  const next = state.next;
  store<u32>(place, changetype<u32>(next));
  if (next) changetype<Gather>(next.state).place = <u32>place;
  state.place = 0;
}

/** The first node below the root that holds rows for a batch, 0 none. */
export function gatheringFirst(root: Node): Node {
  return root.gathering;
}

/** The next node of the list, after one that holds rows; 0 none. */
export function gatheringNext(node: Node): Node {
  return changetype<Gather>(node.state).next;
}

/** Number of the batch that the node gathers, from 1; 0 while it holds nothing. */
export function gatheredBatch(node: Node): u32 {
  const state = changetype<Gather>(node.state);
  return state && state.items ? state.sent + 1 : 0;
}
