// The nodes below a root that hold rows for a batch, as a list that begins at the root: nobody has to ask all nodes.
import { GATHER_ITEMS, GATHER_NEXT, GATHER_PLACE, GATHER_SENT } from './gather-buffer';
import { N_GATHERING, N_PARENT, N_STATE } from '../node/node';

/** Puts the node into the list of its root, if it isn't there. */
export function enlist(node: usize, state: usize): void {
  if (load<u32>(state, GATHER_PLACE)) return;
  let root = node;
  for (let above = node; above; above = <usize>load<u32>(above, N_PARENT)) root = above;
  const next = <usize>load<u32>(root, N_GATHERING);
  store<u32>(root, <u32>node, N_GATHERING);
  store<u32>(state, <u32>(root + N_GATHERING), GATHER_PLACE);
  store<u32>(state, <u32>next, GATHER_NEXT);
  if (next) store<u32>(<usize>load<u32>(next, N_STATE), <u32>(state + GATHER_NEXT), GATHER_PLACE);
}

/** Puts nodes that hold rows below another root now into its list; `old`: the root whose list they are in. */
export function gatheringMoved(old: usize): void {
  for (let node = gatheringFirst(old); node; ) {
    const next = gatheringNext(node);
    const state = <usize>load<u32>(node, N_STATE);
    delist(state);
    store<u32>(state, 0, GATHER_NEXT);
    enlist(node, state);
    node = next;
  }
}

/** Takes the node out of the list. */
export function delist(state: usize): void {
  const place = <usize>load<u32>(state, GATHER_PLACE);
  if (!place) return;
  const next = <usize>load<u32>(state, GATHER_NEXT);
  store<u32>(place, <u32>next);
  if (next) store<u32>(<usize>load<u32>(next, N_STATE), <u32>place, GATHER_PLACE);
  store<u32>(state, 0, GATHER_PLACE);
}

/** The first node below the root that holds rows for a batch, 0 none. */
export function gatheringFirst(root: usize): usize {
  return <usize>load<u32>(root, N_GATHERING);
}

/** The one after a node that does, 0 none. */
export function gatheringNext(node: usize): usize {
  return <usize>load<u32>(<usize>load<u32>(node, N_STATE), GATHER_NEXT);
}

/** Number of the batch that the node gathers, from 1; 0 while it holds nothing. */
export function gatheredBatch(node: usize): u32 {
  const state = <usize>load<u32>(node, N_STATE);
  return state && load<u32>(state, GATHER_ITEMS) ? load<u32>(state, GATHER_SENT) + 1 : 0;
}
