/**
 * Moves rules to nodes that are to have them, while both nodes are there. The lease goes first: the entry of the rule
 * names the node that is next, and the one before it, which goes on running the rule. When NATS has taken that, the
 * rule is stopped, and the next node starts it as soon as it is told, which takes no write. So no rule stands still
 * while NATS elects a leader: a write whose outcome is not known stops nothing, and the entry tells it later.
 */
import { reasonOf } from '../base/errors.js';
import type { Logger } from '../base/log/log.js';
import type { AskHandlers, Asks } from './asks.js';
import type { Bucket } from './bucket.js';
import type { Claim, Holder, LeaseView } from './lease-view.js';
import { ruleKey } from './lease-view.js';
import { type Placeable, type PlacedNode, place } from './placement.js';
import type { Session } from './session.js';

/** Rules that are stopped at once. */
const stoppedAtOnce = 64;
/** Longest wait for a node that is to take rules, and for the answer of one that has handed some over, ms. */
const askMs = 1000;
/** Least time between two questions to a node whether it has stopped what it has handed over, ms. */
const askAgainMs = 250;

/** A lease that this node has. */
export interface Held {
  readonly session: string;
  /** Of the entry as this node has taken it: the token of fencing. */
  readonly revision: number;
}

/** A lease as one node tells it another. */
type Told = readonly [id: string, claim: Claim, revision: number];

export interface HandoverOptions {
  readonly bucket: Bucket;
  readonly view: LeaseView;
  readonly session: Session;
  readonly node: string;
  readonly asks: Pick<Asks, 'ask'>;
  /** Leases of this node. */
  readonly held: Map<string, Held>;
  /** To resolve when the rule is stopped. */
  readonly stop: (id: string) => Promise<unknown>;
  /** Whether the rule does anything here. */
  readonly isLive: (id: string) => boolean;
  /** Another node has stopped the rule whose lease this one has. */
  readonly take: (id: string, revision: number, former: string) => void;
  /** Something has changed: rules may be stopped, or given to others. */
  readonly onChange: () => void;
  readonly log: Logger;
}

export class Handover {
  readonly #stopping = new Set<string>();
  /** Times at which nodes were asked. */
  readonly #asked = new Map<string, number>();

  constructor(private readonly options: HandoverOptions) {}

  /** Questions that other nodes ask this one. */
  readonly answers: AskHandlers = {
    isThere: () => true,
    handed: (...told: Told) => this.#hear(told),
    haveStopped: (all: readonly Told[]) => this.#haveStopped(all),
  };

  /** Whether the rule is being stopped, since another node has its lease. */
  isGiven(id: string): boolean {
    return this.#stopping.has(id);
  }

  /** Who may still run a rule whose entry says that he has handed it over. */
  formerOf(claim: Claim | undefined): Holder | undefined {
    const { view, node } = this.options;
    const from = claim?.from;
    return from !== undefined && from.node !== node && view.isThere(from) ? from : undefined;
  }

  /** Hands rules over to the nodes that they fall to. Returns whether NATS has taken all of it. */
  async give(rules: readonly Placeable[], nodes: readonly PlacedNode[], writeMs: number): Promise<boolean> {
    const { bucket, view, session, node } = this.options;
    const from = { node, session: session.id ?? '' };
    const next = place(rules, await this.#reachable(nodes));
    const given = rules.flatMap(({ id }) => {
      const { value, revision } = view.claim(id);
      const name = next.get(id) ?? '';
      const there = view.node(name).value;
      if (there === undefined || value?.node !== node || value.session !== from.session) return [];
      return [{ id, claim: { node: name, session: there.session, from }, revision }];
    });
    const writes = given.map(({ id, claim, revision }) => {
      return { key: ruleKey(id), text: JSON.stringify(claim), after: revision };
    });
    const revisions = await bucket.writeEach(writes, writeMs, view.isDue);
    for (const [i, { id, claim }] of given.entries()) {
      const revision = revisions[i];
      if (typeof revision === 'number') view.noteClaim(id, claim, revision);
    }
    this.finish();
    return given.length === rules.length && revisions.every((revision) => typeof revision === 'number');
  }

  /** Stops rules whose leases other nodes have now, and tells them. One that stops slowly holds up no other. */
  finish(): void {
    const { held, view, node } = this.options;
    for (const [id, lease] of held) {
      const { value, revision } = view.claim(id);
      const isOwn = value?.node === node && value.session === lease.session;
      if (isOwn || revision <= lease.revision || this.#stopping.has(id)) continue;
      if (this.#stopping.size >= stoppedAtOnce) return;
      void this.#stop(id, lease, value, revision);
    }
  }

  /** Asks who has handed rules to this node whether he has stopped them: what he told may have been lost. */
  askFor(rules: readonly string[]): void {
    const { view } = this.options;
    const now = performance.now();
    const told = new Map<string, Told[]>();
    for (const id of rules) {
      const { value, revision } = view.claim(id);
      const former = this.formerOf(value)?.node;
      if (value === undefined || former === undefined) continue;
      if (now - (this.#asked.get(former) ?? Number.NEGATIVE_INFINITY) < askAgainMs) continue;
      told.set(former, [...(told.get(former) ?? []), [id, value, revision]]);
    }
    for (const [former, all] of told) {
      this.#asked.set(former, now);
      void this.#ask(former, all);
    }
  }

  async #ask(former: string, all: readonly Told[]): Promise<void> {
    const { asks } = this.options;
    // One that is silent is asked again, until its session has ended.
    const stopped = await asks.ask<string[]>(former, 'haveStopped', [all], askMs).catch(() => []);
    const ids = new Set(stopped);
    for (const told of all) if (ids.has(told[0])) this.#hear(told);
  }

  /** Nodes that answer: a node that has died keeps its leases for some seconds. */
  async #reachable(nodes: readonly PlacedNode[]): Promise<PlacedNode[]> {
    const { asks } = this.options;
    const answers = nodes.map(({ name }) => asks.ask(name, 'isThere', [], askMs).catch(() => false));
    const isThere = await Promise.all(answers);
    return nodes.filter((_, i) => isThere[i] === true);
  }

  async #stop(id: string, lease: Held, next: Claim | undefined, revision: number): Promise<void> {
    const { stop, held, asks, log, onChange } = this.options;
    this.#stopping.add(id);
    await stop(id);
    // The session may have ended meanwhile, and another begun.
    if (held.get(id) === lease) held.delete(id);
    this.#stopping.delete(id);
    onChange();
    if (next === undefined) return;
    await asks.ask(next.node, 'handed', [id, next, revision], askMs).catch((error) => {
      log.debug(`node ${next.node} was not told that rule ${id} is stopped: ${reasonOf(error)}`);
    });
  }

  /** Nobody runs the rule any more that this node was handed. */
  #hear([id, claim, revision]: Told): void {
    const { view, node, session, held, take } = this.options;
    view.noteClaim(id, claim, revision);
    const isOwn = claim.node === node && claim.session === session.id;
    if (!isOwn || view.claim(id).revision !== revision || held.has(id) || this.#stopping.has(id)) return;
    take(id, revision, claim.from?.node ?? claim.node);
  }

  /** Which of the rules this node does not run any more; of leases that it has not seen yet it learns. */
  #haveStopped(all: readonly Told[]): string[] {
    const { view, held, isLive } = this.options;
    for (const told of all) view.noteClaim(...told);
    this.finish();
    return all.flatMap(([id]) => (held.has(id) || this.#stopping.has(id) || isLive(id) ? [] : [id]));
  }
}
