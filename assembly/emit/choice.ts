// The choice among many filters below one node. Thousands of rules that compare a column with constants, each with
// others, stand in tables, ascending by their constants (emit/lists.ts): the place of a value in a table parts the
// filters that it passes from the others (emit/marks.ts). Only filters that a row of the batch may pass are called, in
// their order, and nodes of which nothing is known here. All others have taken the batch without being touched.
//
// A filter that is called decides for itself, so the choice may call too many filters, but must not miss one. The rows
// that a filter took are the count of its node and the count that is kept here for all filters (node/node.ts).
//
// The lists follow the nodes as they come and go. They are kept in parts, each of nodes that follow each other; a part
// has more nodes than all behind it together. New nodes are the tail, which is called for each batch until it has grown
// or stayed the same for a while. Then it becomes a part, with the parts before it that are not larger: so a node is
// entered in lists some ten times while a hundred thousand come, and a batch looks into a few parts. A node that is
// gone leaves its place; a part of which most are gone is made again.
import { makePart } from './lists';
import { markPart } from './marks';
import * as ctx from '../batch/context';
import { CHOICE_SIZE_OF, Choice, ChoicePart } from '../gen/emit-layouts';
import { Node, NodeFlag } from '../gen/node-layouts';
import { allocZeroed, free } from '../mem/alloc';
import { accountOf, joinChoice } from '../node/node';
import { spread } from '../node/tallies';

/** With fewer filters it is as fast to ask each of them. */
const MIN_FILTERS: u32 = 32;
/** A shorter tail is called for ever. */
const MIN_TAIL: u32 = 16;
/** A tail that becomes a part although nodes still come. */
const LONG_TAIL: u32 = 256;
/** Batches after the last node came until a shorter tail becomes a part. */
const QUIET_BATCHES: i32 = 8;
/** Batches until lists are tried again for which there was no memory. */
const RETRY_BATCHES: i32 = 1024;

/** Adds a filter with a noted condition to those that its parent may choose among. */
export function mayBeChosen(node: Node): void {
  const parent = node.parent;
  if (!parent.choice) {
    const made = changetype<Choice>(allocZeroed(CHOICE_SIZE_OF, 0));
    // Without it all nodes are called.
    if (!made) return;
    parent.choice = made;
    parent.flags |= NodeFlag.CHOOSES;
    made.tail = changetype<usize>(parent.child);
    for (let child = parent.child; child; child = child.sibling) made.tailCount++;
  }
  joinChoice(node);
}

/**
 * Chooses the nodes below that the current batch has to go to, no row of which failed, and counts it for all filters
 * with a condition. Their marks stand in the parts; the tail has to be called as well. 0 when the batch has to go to
 * all nodes.
 */
export function choose(node: Node): Choice {
  const choice = node.choice;
  if (choice.filters < MIN_FILTERS) return changetype<Choice>(0);
  if (choice.tailCount >= MIN_TAIL || choice.isStale) {
    choice.quiet++;
    if (choice.quiet >= QUIET_BATCHES || (choice.quiet > 0 && choice.tailCount >= LONG_TAIL)) extend(node, choice);
  }
  if (!choice.first) return changetype<Choice>(0);
  choice.in += ctx.selLen;
  choice.last = ctx.nowMs;
  for (let part = choice.first; part; part = part.next) markPart(part);
  return choice;
}

/** Makes a part of the tail, and of the parts before it that are not larger or of which most nodes are gone. */
function extend(node: Node, choice: Choice): void {
  let from = changetype<ChoicePart>(0);
  let behind = choice.tailCount;
  let children = behind;
  for (let part = choice.final; part; part = part.before) {
    const isReplaced = part.left <= behind || part.left * 2 < part.children;
    behind += part.left;
    if (!isReplaced) continue;
    from = part;
    children = behind;
  }
  const first = firstOf(from, changetype<Node>(choice.tail));
  // Nodes get new places.
  for (let part = from; part; part = part.next) spread(part);
  let made = changetype<ChoicePart>(0);
  if (children) {
    made = makePart(first, children, accountOf(node));
    if (!made) {
      choice.quiet = -RETRY_BATCHES;
      return;
    }
  }
  const before = from ? from.before : choice.final;
  while (from) {
    const next = from.next;
    free(changetype<usize>(from), from.size, accountOf(node));
    from = next;
  }
  choice.tail = 0;
  choice.tailCount = 0;
  choice.isStale = 0;
  const final = made ? made : before;
  choice.final = final;
  if (made) made.before = before;
  if (before) before.next = made;
  else choice.first = made;
}

/** The first node that is there of the parts from `part` on, or of the tail. */
function firstOf(part: ChoicePart, tail: Node): Node {
  for (; part; part = part.next) {
    for (let i: u32 = 0; i < part.children; i++) {
      const node = load<u32>(part.order + ((<usize>i) << 2));
      if (node) return changetype<Node>(node);
    }
  }
  return tail;
}
