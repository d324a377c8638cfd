/**
 * Gives the rules that are to run to the nodes: each node looks at the rules that nobody has a lease of, and takes
 * those that fall to it (placement.ts). A lease is taken by the revision that was seen, so of two nodes one gets it.
 * Nobody leads.
 */
import type { Logger } from '../base/log/log.js';
import type { AskHandlers, Asks } from './asks.js';
import type { Bucket } from './bucket.js';
import { WriteFailure } from './bucket.js';
import { Handover, type Held } from './handover.js';
import { type Claim, type LeaseView, ruleKey } from './lease-view.js';
import { candidates, due, type PlacedNode, surplus } from './placement.js';
import type { Session } from './session.js';

/** Time between two looks when nothing happens, ms. */
const lookMs = 500;
/** Leases taken at once, and rules given away at once. */
const mostAtOnce = 1000;
/** Rules go to a node that came only when the nodes were the same for so long, ms. */
const settledMs = 3000;
/** Time until rules are given away again, when that could not be, ms. */
const againMs = 1000;
/** Wait for a write of leases, at first and at most, ms. What NATS takes later all the same, the view tells. */
const leastWriteMs = 1500;
const mostWriteMs = 5000;

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
  /** To resolve when the rule is stopped: another node has its lease, and starts it then. */
  readonly onGiven: (id: string) => Promise<unknown>;
  /** Whether the rule does anything here. */
  readonly isLive: (id: string) => boolean;
  readonly asks: Pick<Asks, 'ask'>;
  /** Something about who has which rule has changed. */
  readonly onChange: () => void;
  readonly log: Logger;
}

export class Placing {
  readonly #options: PlacingOptions;
  /** Rules that are to run, on whichever node, with the time since which nobody has a lease of it. */
  readonly #wanted = new Map<string, number | undefined>();
  /** Leases of this node. */
  readonly #held = new Map<string, Held>();
  readonly #handover: Handover;
  #writeMs = leastWriteMs;
  /** No rule is given away before: NATS, or the node that was to have some, did not answer. */
  #giveAfter = 0;
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Immediate | undefined;
  #looking = false;
  #isClosed = false;
  /** Names of the nodes, and since when they are these. */
  #nodes = { names: '', since: 0 };

  constructor(options: PlacingOptions) {
    this.#options = options;
    this.#handover = new Handover({
      ...options,
      held: this.#held,
      stop: options.onGiven,
      take: (...taken) => this.#hold(...taken),
      onChange: () => this.#lookSoon(),
    });
    options.view.onChange = () => this.#lookSoon();
    this.#timer = setInterval(() => this.#lookSoon(), lookMs);
  }

  /** Questions that other nodes ask this one. */
  get answers(): AskHandlers {
    return this.#handover.answers;
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
    return this.#handover.isGiven(id);
  }

  /** Revision of the lease that this node has; also of one that it is giving away, until the rule is stopped. */
  leaseOf(id: string): number | undefined {
    const lease = this.#held.get(id);
    return lease !== undefined && lease.session === this.#options.session.id ? lease.revision : undefined;
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
    const { view, node, session } = this.#options;
    const { value } = view.claim(id);
    // One that it was handed it may not have yet.
    const isOwn = value?.node === node && value.session === session.id && !this.isGiven(id);
    if (this.#held.delete(id) || isOwn) await this.#release([id]);
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
      this.#handover.finish();
      await this.#take(this.#mine(nodes), id);
      await this.#giveSurplus(nodes);
    } finally {
      this.#looking = false;
    }
  }

  /** Rules whose lease this node is to write now: they fall to it. */
  #mine(nodes: readonly PlacedNode[]): string[] {
    const { node, groupOf, view } = this.#options;
    const now = performance.now();
    const free: { id: string; group: string | undefined; since: number }[] = [];
    const groups = new Map<string, string>();
    const own: string[] = [];
    const handed: string[] = [];
    for (const [id, since = now] of this.#wanted) {
      const owner = this.ownerOf(id);
      const group = groupOf(id);
      if (owner === node && !this.#held.has(id) && !this.isGiven(id)) {
        // Without a former node NATS took the lease, or did not take it back, and its answer was lost.
        (this.#handover.formerOf(view.claim(id).value) === undefined ? own : handed).push(id);
      }
      if (owner !== undefined && group !== undefined) groups.set(group, owner);
      if (owner === undefined) free.push({ id, group, since });
      this.#wanted.set(id, owner === undefined ? since : undefined);
    }
    this.#handover.askFor(handed);
    if (free.length === 0) return own.slice(0, mostAtOnce);
    const rules = free.map((rule) => ({ ...rule, groupNode: groups.get(rule.group ?? '') }));
    return [...own, ...due(rules, nodes, node, now)].slice(0, mostAtOnce);
  }

  async #take(ids: readonly string[], session: string): Promise<void> {
    const { bucket, view, node, log } = this.#options;
    const taken = ids.map((id) => {
      const former = view.claim(id);
      // Its lease went to a node that died before the one that had it before has stopped it.
      const claim: Claim = { node, session, from: this.#handover.formerOf(former.value) };
      return { id, former, claim };
    });
    const writes = taken.map(({ id, former, claim }) => {
      return { key: ruleKey(id), text: JSON.stringify(claim), after: former.revision };
    });
    const revisions = await bucket.writeEach(writes, this.#writeMs, view.isDue);
    this.#noteWritten(revisions);
    const refusals = new Set<string>();
    for (const [i, { id, former, claim }] of taken.entries()) {
      const revision = revisions[i] as number | WriteFailure;
      if (revision instanceof WriteFailure) {
        if (revision.kind === 'refused') refusals.add(revision.message);
        continue;
      }
      view.noteClaim(id, claim, revision);
      // The session may have ended, or the rule been stopped, while NATS answered.
      if (this.#options.session.id !== session || claim.from !== undefined) continue;
      this.#hold(id, revision, former.value?.node);
    }
    for (const reason of refusals) log.warn(`NATS refuses leases of rules: ${reason}`);
  }

  /** The lease is this node's, and nobody runs the rule. */
  #hold(id: string, revision: number, former: string | undefined): void {
    const { session, onTaken } = this.#options;
    this.#held.set(id, { session: session.id ?? '', revision });
    if (this.#wanted.has(id)) onTaken(id, former);
    else void this.unwant(id);
  }

  /** A server that is away does not answer; one that is slow is waited for longer. */
  #noteWritten(revisions: readonly (number | WriteFailure)[]): void {
    const isUnsure = revisions.some((one) => one instanceof WriteFailure && one.kind === 'unsure');
    this.#writeMs = isUnsure ? Math.min(mostWriteMs, 2 * this.#writeMs) : leastWriteMs;
  }

  /** Hands rules over that others are to have: this node drains, or a node with less has come. */
  async #giveSurplus(nodes: readonly PlacedNode[]): Promise<void> {
    const { node, session, view, groupOf } = this.#options;
    const now = performance.now();
    const isSettled = now - this.#nodes.since > settledMs;
    const takers = nodes.filter(({ name, isDraining }) => {
      return name !== node && !isDraining && view.node(name).value?.isHanded === true;
    });
    if (takers.length === 0 || (!isSettled && !session.isDraining) || now < this.#giveAfter) return;
    const count = surplus(node, nodes);
    if (count === 0) return;
    const held = this.held().filter((id) => {
      return view.ownerOf(id) === node && (session.isDraining || groupOf(id) === undefined);
    });
    // Those that rank this node last go first: they are at home elsewhere.
    const given = held
      .map((id) => ({ id, group: groupOf(id), at: candidates({ id }, nodes).indexOf(node) }))
      .sort((a, b) => b.at - a.at)
      .slice(0, Math.min(count, mostAtOnce));
    const isTaken = await this.#handover.give(given, takers, this.#writeMs);
    if (!isTaken) this.#giveAfter = performance.now() + againMs;
  }

  /** Gives leases back. One that NATS does not take back is void with the session, or taken again. */
  async #release(ids: readonly string[]): Promise<void> {
    const { bucket, view, node, isKnown } = this.#options;
    const left = ids.flatMap((id) => {
      const { value, revision: after } = view.claim(id);
      // Who has it next is to know where it was.
      const claim = { node, session: '', from: this.#handover.formerOf(value) };
      return value?.node === node ? [{ id, after, claim: isKnown(id) ? claim : undefined }] : [];
    });
    const writes = left.map(({ id, after, claim }) => {
      return { key: ruleKey(id), text: claim && JSON.stringify(claim), after };
    });
    const revisions = await bucket.writeEach(writes, undefined, view.isDue);
    for (const [i, { id, claim }] of left.entries()) {
      const revision = revisions[i];
      if (typeof revision === 'number') view.noteClaim(id, claim, revision);
    }
  }

  #noteNodes(nodes: readonly PlacedNode[]): void {
    const names = nodes.map(({ name }) => name).join(' ');
    if (names !== this.#nodes.names) this.#nodes = { names, since: performance.now() };
  }
}
