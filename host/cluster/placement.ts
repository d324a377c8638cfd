/**
 * Which node runs which rule: rendezvous hashing with a bound of load. Pure code: nodes compute it alike from what they
 * see, and the simulation of large clusters runs it, too. That two nodes do not agree for a moment does no harm, since
 * a rule belongs to who has its lease.
 */

export interface PlacedNode {
  readonly name: string;
  /** It takes no rules and gives away those it has. */
  readonly isDraining: boolean;
  /** Rules that it has. */
  readonly load: number;
}

export interface Placeable {
  readonly id: string;
  /** Rules of a group run on one node, as they exchange rows in its memory. */
  readonly group?: string | undefined;
}

/** A node has at most so many times the mean load, rounded up: rules find their place without a plan of all. */
const bound = 1.25;
/** A node that is not the first to take a rule waits so long for each one before it, ms. */
const turnMs = 1000;

/** Nodes in the order in which they may take a rule: those below the bound first, each part by its rank. */
export function candidates(rule: Placeable, nodes: readonly PlacedNode[]): string[] {
  const open = nodes.filter(({ isDraining }) => !isDraining);
  const most = boundOf(open, 1);
  const own = hash(rule.group ?? rule.id);
  const ranked = open
    .map((node) => ({ node, weight: mixed(own, hash(node.name)) }))
    .sort((a, b) => b.weight - a.weight || (a.node.name < b.node.name ? -1 : 1));
  const isOpen = ({ load }: PlacedNode) => rule.group !== undefined || load < most;
  const first = ranked.filter(({ node }) => isOpen(node));
  const rest = ranked.filter(({ node }) => !isOpen(node));
  return [...first, ...rest].map(({ node }) => node.name);
}

/**
 * Places rules one after the other, each counted for the next; with the node that takes it first, undefined where there
 * is none. As `candidates`, for many rules.
 */
export function place(rules: readonly Placeable[], nodes: readonly PlacedNode[]): Map<string, string> {
  const open = nodes.filter(({ isDraining }) => !isDraining);
  const names = open.map(({ name }) => hash(name));
  const loads = open.map(({ load }) => load);
  const most = boundOf(open, rules.length);
  const placed = new Map<string, string>();
  for (const { id, group } of rules) {
    const own = hash(group ?? id);
    let best = -1;
    let bestWeight = -1;
    for (let i = 0; i < open.length; i++) {
      if (group === undefined && (loads[i] as number) >= most) continue;
      const weight = mixed(own, names[i] as number);
      if (weight > bestWeight) [best, bestWeight] = [i, weight];
    }
    if (best < 0) continue;
    loads[best] = (loads[best] as number) + 1;
    placed.set(id, (open[best] as PlacedNode).name);
  }
  return placed;
}

/** A rule that no node has. */
export interface FreeRule extends Placeable {
  /** Time since which the node knows that. */
  readonly since: number;
  /** Node that has others of its group. */
  readonly groupNode?: string | undefined;
}

/**
 * The rules that a node is to take now: those that fall to it, and those that nobody took in the time of the nodes
 * before it.
 */
export function due(free: readonly FreeRule[], nodes: readonly PlacedNode[], node: string, now: number): string[] {
  // Nodes place alike what they see alike.
  const rules = free.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const first = place(rules, nodes);
  const open = new Set(nodes.flatMap(({ name, isDraining }) => (isDraining ? [] : [name])));
  const taken = rules.filter((rule) => {
    const { id, groupNode, since } = rule;
    if (groupNode !== undefined && open.has(groupNode)) return groupNode === node;
    if (first.get(id) === node) return true;
    // Ranks are computed when the first node has had its time.
    if (now - since <= turnMs) return false;
    const turn = candidates(rule, nodes).indexOf(node);
    return turn >= 0 && now - since > (turn + 1) * turnMs;
  });
  return taken.map(({ id }) => id);
}

/** How many rules a node is to give away, as others have much less: the load above the bound. */
export function surplus(name: string, nodes: readonly PlacedNode[]): number {
  const node = nodes.find((one) => one.name === name);
  if (node === undefined) return 0;
  if (node.isDraining) return node.load;
  return Math.max(
    0,
    node.load -
      boundOf(
        nodes.filter(({ isDraining }) => !isDraining),
        0,
      ),
  );
}

function boundOf(open: readonly PlacedNode[], coming: number): number {
  const all = open.reduce((sum, { load }) => sum + load, coming);
  return Math.ceil((bound * all) / Math.max(1, open.length));
}

/** FNV-1a of the text, mixed. */
function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return mixed(h, 0);
}

/** Mixes two hashes to a number of 32 bits (the finish of murmur3). */
function mixed(a: number, b: number): number {
  let h = a ^ Math.imul(b, 0x9e3779b1);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
