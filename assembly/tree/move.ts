// Moves a node, with its state and all nodes below it, to another stream that gives the same columns at the same
// places. So the unread input of a rule waits apart from the input of the others
// (host/run/plane/schedule/throttle-queue.ts).
import { mayBeChosen } from '../emit/choice';
import { gatheringMoved } from '../encode/gathering';
import { leaveChoice, linkBelow, unlink } from '../node/node';
import { Node } from '../gen/node-layouts';

/** Makes the node the last child of the stream `to`; called only between two inputs. */
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
