// A node below a stream moves to another stream that gives the same columns at the same places, with all that it keeps
// and all nodes below it: what a rule has yet to read waits apart then from what others read
// (host/run/plane/schedule/throttle-queue.ts).
import { mayBeChosen } from '../emit/choice';
import { gatheringMoved } from '../encode/gathering';
import { N_PARENT, leaveChoice, linkBelow, unlink } from '../node/node';
import { N_CONDITION } from '../gen/node-layouts';

/** Between two inputs; the node comes after the last child of the stream. */
export function nodeMove(node: usize, to: usize): void {
  const from = <usize>load<u32>(node, N_PARENT);
  const condition = load<u16>(node, N_CONDITION);
  leaveChoice(node);
  unlink(node);
  linkBelow(to, node);
  if (condition) {
    store<u16>(node, condition, N_CONDITION);
    mayBeChosen(node);
  }
  gatheringMoved(from);
}
