/** What the bucket of leases says: the nodes that are there, and which has the lease of which rule. */
import { isDeepStrictEqual } from 'node:util';
import type { Bucket, BucketEntry, BucketWrite } from './bucket.js';
import { decodeName, encodeName } from './keys.js';
import type { PlacedNode } from './placement.js';

/** The entry of a node: its rules are its own as long as it is there. Others remove it when the node is silent. */
export interface NodeEntry {
  /** Another one at each start, and after each time that the entry was removed. */
  readonly session: string;
  /** Address of its REST interface. */
  readonly url: string;
  /** It gives its rules away. */
  readonly isDraining: boolean;
  /** Why, when nobody asked for it. */
  readonly reason?: string | undefined;
  /** It waits for the node before it when it is handed a rule (handover.ts); releases before did not. */
  readonly isHanded?: boolean;
  /** Epoch ms of its start. */
  readonly since: number;
}

/** A node, and the time for which it has its rules. */
export interface Holder {
  readonly node: string;
  readonly session: string;
}

/** The lease of a rule; it holds as long as the session of the node. */
export interface Claim extends Holder {
  /** Who has handed the rule over, and may run it until it says that it has stopped or its session ends. */
  readonly from?: Holder | undefined;
}

interface Entry<T> {
  readonly value: T | undefined;
  /** Last revision: who writes another one than after it is refused. For a claim it is the token of fencing. */
  readonly revision: number;
}

export class LeaseView {
  readonly #nodes = new Map<string, Entry<NodeEntry>>();
  readonly #claims = new Map<string, Entry<Claim>>();
  /** Number of valid leases, by node. */
  #loads: Map<string, number> | undefined;
  /** Hears of each change. */
  onChange: () => void = () => {};

  /** Follows the bucket. */
  static async of(bucket: Bucket): Promise<LeaseView> {
    const view = new LeaseView();
    await bucket.watch((entry) => view.#take(entry));
    return view;
  }

  node(name: string): Entry<NodeEntry> {
    return this.#nodes.get(name) ?? { value: undefined, revision: 0 };
  }

  claim(id: string): Entry<Claim> {
    return this.#claims.get(id) ?? { value: undefined, revision: 0 };
  }

  /** Whether the lease of a rule is as a write expects it, as far as is known: NATS would refuse any other. */
  readonly isDue = ({ key, after }: BucketWrite): boolean => this.claim(ruleOf(key)).revision <= after;

  /** Nodes that are there, by name. */
  nodes(): [name: string, NodeEntry][] {
    return [...this.#nodes]
      .flatMap(([name, { value }]): [string, NodeEntry][] => (value === undefined ? [] : [[name, value]]))
      .sort(([a], [b]) => (a < b ? -1 : 1));
  }

  /** The nodes as rules are placed on them. */
  placed(): PlacedNode[] {
    const loads = this.loads();
    return this.nodes().map(([name, { isDraining }]) => ({ name, isDraining, load: loads.get(name) ?? 0 }));
  }

  /** Valid leases, by node. */
  loads(): ReadonlyMap<string, number> {
    if (this.#loads !== undefined) return this.#loads;
    const loads = new Map<string, number>();
    for (const id of this.#claims.keys()) {
      const owner = this.ownerOf(id);
      if (owner !== undefined) loads.set(owner, (loads.get(owner) ?? 0) + 1);
    }
    this.#loads = loads;
    return loads;
  }

  /** Node that has the lease of a rule; undefined when none has, or the node is gone. */
  ownerOf(id: string): string | undefined {
    const claim = this.#claims.get(id)?.value;
    return claim !== undefined && this.isThere(claim) ? claim.node : undefined;
  }

  /** Whether the session of a node goes on. */
  isThere({ node, session }: Holder): boolean {
    return this.#nodes.get(node)?.value?.session === session;
  }

  /** Rules that have an entry, whether its lease is valid or not. */
  claimed(): IterableIterator<string> {
    return this.#claims.keys();
  }

  /** Notes what this node has written itself. */
  noteClaim(id: string, value: Claim | undefined, revision: number): void {
    this.#set(this.#claims, id, { value, revision });
  }

  noteNode(name: string, value: NodeEntry | undefined, revision: number): void {
    this.#set(this.#nodes, name, { value, revision });
  }

  #take({ key, revision, text }: BucketEntry): void {
    const [word, name] = key.split('.');
    if (name === undefined) return;
    if (word === 'node') this.noteNode(decodeName(name), parsed<NodeEntry>(text), revision);
    else if (word === 'rule') this.noteClaim(decodeName(name), parsed<Claim>(text), revision);
  }

  #set<T>(entries: Map<string, Entry<T>>, name: string, entry: Entry<T>): void {
    const before = entries.get(name);
    if ((before?.revision ?? -1) >= entry.revision) return;
    entries.set(name, entry);
    // A renewal changes nothing about who has what.
    if (before !== undefined && isDeepStrictEqual(before.value, entry.value)) return;
    this.#loads = undefined;
    this.onChange();
  }
}

export const nodeKey = (name: string): string => `node.${encodeName(name)}`;
export const ruleKey = (id: string): string => `rule.${encodeName(id)}`;
const ruleOf = (key: string): string => decodeName(key.slice(key.indexOf('.') + 1));

/** What an entry says; undefined when it says nothing that is understood. */
export function parsed<T>(text: string | undefined): T | undefined {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as T;
  } catch {
    // Somebody else wrote it: it is nobody's lease.
    return undefined;
  }
}
