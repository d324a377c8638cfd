// A node below a stream moves to another stream that gives the same columns at the same places, with all that it keeps
// and all nodes below it: what a rule has yet to read waits apart then from what others read
// (host/run/plane/schedule/throttle-queue.ts).
import { mayBeChosen } from '../emit/choice';
import { gatheringMoved } from '../encode/gathering';
import { leaveChoice, linkBelow, unlink } from '../node/node';
import { Node } from '../gen/node-layouts';

/** Between two inputs; the node comes after the last child of the stream. */
export function nodeMove(node: Node, to: Node): void {
  const from = node.parent;
  const condition = node.condition;
  leaveChoice(node);
  unlink(node);
  linkBelow(to, node);
  if (condition) {
    node.condition = condition;
    mayBeChosen(node);
  }
  gatheringMoved(from);
}
