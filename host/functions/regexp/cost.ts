/**
 * How long a search by JavaScript's engine, which goes back, may take at worst: length of the text to this power. A
 * search begins at each character; a repetition may end at each, unless what follows can't begin with what it repeats.
 */
import type { CharSet, Node } from './nodes.js';

/** Characters that may follow; `null`: nothing has to follow. */
type Next = CharSet | null;

interface Count {
  /** Repetitions that may end at several places. */
  open: number;
  /** Repetitions that end at one. */
  closed: number;
}

const anything = new Uint8Array(129).fill(1);
const nothing = new Uint8Array(129);

export function stepPower(branches: readonly (readonly Node[])[]): number {
  const count: Count = { open: 0, closed: 0 };
  for (const branch of branches) firstOf(branch, null, count);
  const isAnchored = branches.every((branch) => branch[0]?.kind === 'assert' && branch[0].place === 'start');
  return Math.max(1, (isAnchored ? 0 : 1) + count.open + Math.min(1, count.closed));
}

/** Counts the repetitions of a branch and returns what it may begin with, given what follows it. */
function firstOf(branch: readonly Node[], follow: Next, count: Count): Next {
  let next = follow;
  for (let i = branch.length - 1; i >= 0; i--) next = firstOfNode(branch[i] as Node, next, count);
  return next;
}

function firstOfNode(node: Node, next: Next, count: Count): Next {
  switch (node.kind) {
    case 'one':
      return node.set;
    case 'assert':
      // At the end nothing follows; the others may fail whatever stands there.
      return node.place === 'end' ? nothing : anything;
    case 'repeat':
      if (node.max > node.min && next !== null) {
        if (overlap(node.set, next)) count.open++;
        else count.closed++;
      }
      return node.min > 0 ? node.set : union(node.set, next);
    case 'group': {
      const firsts = node.branches.map((branch) => firstOf(branch, next, count));
      if (node.isOptional) firsts.push(next);
      return firsts.reduce(union);
    }
    default:
      return node satisfies never;
  }
}

function overlap(a: CharSet, b: CharSet): boolean {
  return a.some((isIn, c) => isIn === 1 && b[c] === 1);
}

function union(a: Next, b: Next): Next {
  if (a === null || b === null) return null;
  return a.map((isIn, c) => isIn | (b[c] ?? 0));
}
