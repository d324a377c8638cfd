/**
 * Gives the rules that are to run to the nodes: each node looks at the rules that nobody has a lease of, and takes
 * those that fall to it (placement.ts). A lease is taken by the revision that was seen, so of two nodes one gets it.
 * Nobody leads.
 */
import type { Logger } from '../base/log/log.js';
import type { Bucket } from './bucket.js';
import { WriteFailure } from './bucket.js';
import { type LeaseView, ruleKey } from './lease-view.js';
import { candidates, due, type PlacedNode, surplus } from './placement.js';
import type { Session } from './session.js';

/** Time between two looks when nothing happens, ms. */
const lookMs = 500;
/** Leases taken at once, and rules given away at once. */
const mostAtOnce = 1000;
/** Rules that are stopped at once when they are given away. */
const stoppedAtOnce = 64;
/** Rules go to a node that came only when the nodes were the same for so long, ms. */
const settledMs = 3000;

export interface PlacingOptions {
  readonly bucket: Bucket;
  readonly view: LeaseView;
  readonly session: Session;
  readonly node: string;
  /** Rules of one group run together; undefined: the rule is on its own. */
  readonly groupOf: (id: string) => string | undefined;
  /** Whether there is such a rule. */
  readonly isKnown: (id: string) => boolean;
  /** This node has got the lease of a rule; `former` had it before. */
  readonly onTaken: (id: string, former: string | undefined) => void;
  /** To resolve when the rule is stopped: its lease is given back then. */
  readonly onGiven: (id: string) => Promise<unknown>;
  /** Something about who has which rule has changed. */
  readonly onChange: () => void;
  readonly log: Logger;
}

export class Placing {
  readonly #options: PlacingOptions;
  /** Rules that are to run, on whichever node, with the time since which nobody has a lease of it. */
  readonly #wanted = new Map<string, number | undefined>();
  /** Leases of this node, with the session that they were taken in. */
  readonly #held = new Map<string, string>();
  readonly #giving = new Set<string>();
  /** No rule is given away before: NATS did not take leases back. */
  #giveAfter = 0;
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Immediate | undefined;
  #looking = false;
  #isClosed = false;
  /** Names of the nodes, and since when they are these. */
  #nodes = { names: '', since: 0 };

  constructor(options: PlacingOptions) {
    this.#options = options;
    options.view.onChange = () => this.#lookSoon();
    this.#timer = setInterval(() => this.#lookSoon(), lookMs);
  }

  isWanted(id: string): boolean {
    return this.#wanted.has(id);
  }

  /** Rules that are to run. */
  wanted(): string[] {
    return [...this.#wanted.keys()];
  }

  /** Whether this node runs the rule. */
  holds(id: string): boolean {
    return this.#held.has(id);
  }

  /** Whether this node is giving the rule away: it has the lease until the rule is stopped. */
  isGiven(id: string): boolean {
    return this.#giving.has(id);
  }

  held(): string[] {
    return [...this.#held.keys()];
  }

  /** Node that has the lease of the rule. */
  ownerOf(id: string): string | undefined {
    return this.holds(id) ? this.#options.node : this.#options.view.ownerOf(id);
  }

  want(id: string): void {
    if (this.#wanted.has(id)) return;
    this.#wanted.set(id, undefined);
    this.#lookSoon();
  }

  /** The rule is not to run any more; gives its lease back, once it is stopped here. */
  async unwant(id: string): Promise<void> {
    this.#wanted.delete(id);
    if (!this.#held.has(id)) return;
    this.#held.delete(id);
    await this.#release([id]);
  }

  /** Removes what is left of a rule that is gone and that nobody has. */
  async forget(id: string): Promise<void> {
    const { bucket, view } = this.#options;
    const { value, revision } = view.claim(id);
    if (value === undefined || view.ownerOf(id) !== undefined) return;
    try {
      await bucket.write({ key: ruleKey(id), text: undefined, after: revision });
    } catch (error) {
      if (!(error instanceof WriteFailure)) throw error;
    }
  }

  /** The leases are void; returns the rules, which are to be stopped. */
  lose(): string[] {
    const held = this.held();
    this.#held.clear();
    return held;
  }

  /** Takes and gives no more; leases end with the session. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    clearImmediate(this.#soon);
    this.#options.view.onChange = () => {};
  }

  #lookSoon(): void {
    if (this.#isClosed) return;
    this.#soon ??= setImmediate(() => {
      this.#soon = undefined;
      void this.#look();
    });
  }

  async #look(): Promise<void> {
    this.#options.onChange();
    if (this.#looking) return;
    this.#looking = true;
    try {
      const { session, view, node } = this.#options;
      const nodes = view.placed();
      this.#noteNodes(nodes);
      const id = session.id;
      if (id === undefined || !nodes.some(({ name }) => name === node)) return;
      await this.#take(this.#mine(nodes), id);
      await this.#giveSurplus(nodes);
    } finally {
      this.#looking = false;
    }
  }

  /** Rules without a lease that fall to this node now. */
  #mine(nodes: readonly PlacedNode[]): string[] {
    const { node, groupOf } = this.#options;
    const now = performance.now();
    const free: { id: string; group: string | undefined; since: number }[] = [];
    const groups = new Map<string, string>();
    const own: string[] = [];
    for (const [id, since = now] of this.#wanted) {
      const owner = this.ownerOf(id);
      const group = groupOf(id);
      // NATS took the lease, or did not take it back, and its answer was lost.
      if (owner === node && !this.#held.has(id) && !this.#giving.has(id)) own.push(id);
      if (owner !== undefined && group !== undefined) groups.set(group, owner);
      if (owner === undefined) free.push({ id, group, since });
      this.#wanted.set(id, owner === undefined ? since : undefined);
    }
    if (free.length === 0) return own;
    const rules = free.map((rule) => ({ ...rule, groupNode: groups.get(rule.group ?? '') }));
    return [...own, ...due(rules, nodes, node, now)].slice(0, mostAtOnce);
  }

  async #take(ids: readonly string[], session: string): Promise<void> {
    const { bucket, view, node, onTaken, log } = this.#options;
    const claim = { node, session };
    const text = JSON.stringify(claim);
    const taken = ids.flatMap((id) => (this.#giving.has(id) ? [] : [{ id, former: view.claim(id) }]));
    const writes = taken.map(({ id, former }) => ({ key: ruleKey(id), text, after: former.revision }));
    const revisions = await bucket.writeEach(writes);
    const refusals = new Set<string>();
    for (const [i, { id, former }] of taken.entries()) {
      const revision = revisions[i] as number | WriteFailure;
      if (revision instanceof WriteFailure) {
        if (revision.kind === 'refused') refusals.add(revision.message);
        continue;
      }
      view.noteClaim(id, claim, revision);
      // The session may have ended, or the rule been stopped, while NATS answered.
      if (this.#options.session.id !== session) continue;
      this.#held.set(id, session);
      if (this.#wanted.has(id)) onTaken(id, former.value?.node);
      else await this.unwant(id);
    }
    for (const reason of refusals) log.warn(`NATS refuses leases of rules: ${reason}`);
  }

  /** Gives rules away that others are to have: this node drains, or a node with less has come. */
  async #giveSurplus(nodes: readonly PlacedNode[]): Promise<void> {
    const { node, session, onGiven, groupOf } = this.#options;
    const isSettled = performance.now() - this.#nodes.since > settledMs;
    const others = nodes.filter(({ name, isDraining }) => name !== node && !isDraining);
    if (others.length === 0 || (!isSettled && !session.isDraining) || performance.now() < this.#giveAfter) return;
    const count = surplus(node, nodes);
    if (count === 0) return;
    const held = this.held().filter((id) => session.isDraining || groupOf(id) === undefined);
    // Those that rank this node last go first: they are at home elsewhere.
    const given = held
      .map((id) => ({ id, at: candidates({ id }, nodes).indexOf(node) }))
      .sort((a, b) => b.at - a.at)
      .slice(0, Math.min(count, mostAtOnce));
    for (const { id } of given) this.#giving.add(id);
    // In parts: the first rules run elsewhere before the last have stopped.
    for (let at = 0; at < given.length; at += stoppedAtOnce) {
      const ids = given.slice(at, at + stoppedAtOnce).map(({ id }) => id);
      await Promise.all(ids.map((id) => onGiven(id)));
      const sessions = new Map(ids.map((id) => [id, this.#held.get(id)]));
      for (const id of ids) this.#held.delete(id);
      const kept = await this.#release(ids);
      for (const id of ids) this.#giving.delete(id);
      // Nobody can take them now: they go on here.
      for (const id of kept) this.#keep(id, sessions.get(id));
      if (kept.length > 0) this.#giveAfter = performance.now() + settledMs;
    }
  }

  /** Goes on with a rule whose lease could not be given back. */
  #keep(id: string, session: string | undefined): void {
    if (session === undefined || this.#options.session.id !== session || !this.#wanted.has(id)) return;
    this.#held.set(id, session);
    this.#options.onTaken(id, this.#options.node);
  }

  /** Gives leases back; returns the rules whose leases this node surely still has. */
  async #release(ids: readonly string[]): Promise<string[]> {
    const { bucket, view, node, isKnown } = this.#options;
    const left = ids.flatMap((id) => {
      const { value, revision: after } = view.claim(id);
      // Who has it next is to know where it was.
      return value?.node === node ? [{ id, after, claim: isKnown(id) ? { node, session: '' } : undefined }] : [];
    });
    const writes = left.map(({ id, after, claim }) => {
      return { key: ruleKey(id), text: claim && JSON.stringify(claim), after };
    });
    // One that NATS does not take back is void with the session, or taken again.
    const revisions = await bucket.writeEach(writes);
    const kept: string[] = [];
    for (const [i, { id, claim }] of left.entries()) {
      const revision = revisions[i];
      if (typeof revision === 'number') view.noteClaim(id, claim, revision);
      else if (revision?.kind === 'away') kept.push(id);
    }
    return kept;
  }

  #noteNodes(nodes: readonly PlacedNode[]): void {
    const names = nodes.map(({ name }) => name).join(' ');
    if (names !== this.#nodes.names) this.#nodes = { names, since: performance.now() };
  }
}
