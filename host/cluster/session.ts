/**
 * This node among the others: an entry in the bucket of leases that expires unless it is renewed. The rules of the node
 * are its own as long as the entry is there. The node counts the time from the moment at which it asked for the
 * renewal, which is before NATS began to count: it has stopped when the entry expires.
 */
import { randomUUID } from 'node:crypto';
import type { Logger } from '../base/log/log.js';
import type { Bucket } from './bucket.js';
import { WriteFailure } from './bucket.js';
import { clusterErrors } from './errors.js';
import { type LeaseView, type NodeEntry, nodeKey } from './lease-view.js';

/** Parts of the time of a lease: between two renewals, until rules are stopped in order, until they must be gone. */
const renewPart = 0.25;
const stopPart = 0.6;
const endPart = 0.95;
/** How much later than promised NATS removes an entry, ms: it looks once a second. */
const expirySlackMs = 2000;

export interface SessionOptions {
  readonly bucket: Bucket;
  readonly view: LeaseView;
  readonly node: string;
  readonly url: () => string;
  readonly ttlMs: number;
  /** Time that goes on while the process is stopped, ms. */
  readonly now: () => number;
  /** Called with the time until which rules may work. */
  readonly onExtended: (until: number) => void;
  /** The lease will run out or has: to resolve when all rules are stopped. */
  readonly onLost: (reason: string) => Promise<void>;
  readonly onOpen: () => void;
  readonly log: Logger;
}

export class Session {
  readonly #options: SessionOptions;
  #entry: NodeEntry | undefined;
  #revision = 0;
  /** Time of the last request for a renewal that was granted. */
  #granted = 0;
  /** Renewals in a row that were refused though the entry seems to be there: what this node sees may be late. */
  #refusals = 0;
  #isDraining = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  #stopping: Promise<void> | undefined;
  #renewing = false;
  readonly #since = Date.now();

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** Id of the session; undefined while this node has none, so that it may not have rules. */
  get id(): string | undefined {
    return this.#stopping === undefined ? this.#entry?.session : undefined;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Waits for the entry of a former process of this name to expire; throws when one is alive. */
  async waitFree(): Promise<void> {
    const { view, node, ttlMs } = this.#options;
    const { revision, value } = view.node(node);
    if (value === undefined) return;
    await this.#expired(revision, ttlMs + expirySlackMs);
    if (view.node(node).value !== undefined) throw clusterErrors.sameName(node);
  }

  /** Joins: from now on this node may have rules. */
  async join(): Promise<void> {
    this.#timer = setInterval(() => void this.#turn(), renewPart * this.#options.ttlMs);
    await this.#turn();
  }

  /** Says whether this node gives its rules away. */
  async setDraining(isDraining: boolean): Promise<void> {
    this.#isDraining = isDraining;
    await this.#renew();
  }

  /** Leaves; others may have its rules at once. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    const { bucket, node } = this.#options;
    if (this.#entry === undefined) return;
    await bucket.write({ key: nodeKey(node), text: undefined, after: this.#revision }).catch(() => {});
  }

  /** Resolves when the entry of a revision has gone, or the time is over. */
  async #expired(revision: number, timeoutMs: number): Promise<void> {
    const { view, node } = this.#options;
    const end = performance.now() + timeoutMs;
    while (performance.now() < end) {
      const now = view.node(node);
      if (now.value === undefined || now.revision !== revision) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async #open(): Promise<void> {
    const { view, node } = this.#options;
    this.#revision = view.node(node).revision;
    const session = randomUUID();
    this.#entry = { session, url: this.#options.url(), isDraining: this.#isDraining, since: this.#since };
    try {
      await this.#write();
    } catch (error) {
      this.#entry = undefined;
      throw error;
    }
    this.#options.onOpen();
  }

  async #turn(): Promise<void> {
    if (this.#isClosed || this.#renewing) return this.#watch();
    this.#renewing = true;
    try {
      this.#watch();
      if (this.#stopping !== undefined) return;
      if (this.#entry === undefined) await this.#open();
      else await this.#renew();
    } catch (error) {
      if (!(error instanceof WriteFailure)) throw error;
    } finally {
      this.#renewing = false;
    }
  }

  /** Stops the rules when no renewal came for too long. */
  #watch(): void {
    const { now, ttlMs } = this.#options;
    if (this.#entry !== undefined && now() - this.#granted > stopPart * ttlMs) this.#lose('NATS did not renew it');
  }

  async #renew(): Promise<void> {
    if (this.#entry === undefined) return;
    this.#entry = { ...this.#entry, isDraining: this.#isDraining, url: this.#options.url() };
    try {
      await this.#write();
    } catch (error) {
      if (!(error instanceof WriteFailure)) throw error;
      const { view, node } = this.#options;
      const isStill = view.node(node).value?.session === this.#entry?.session;
      if (error.kind === 'changed' && (!isStill || ++this.#refusals > 1)) this.#lose('it has run out');
    }
  }

  async #write(): Promise<void> {
    const { bucket, node, ttlMs, now, onExtended, view } = this.#options;
    const entry = this.#entry;
    const seen = view.node(node);
    // A renewal whose answer was lost.
    if (seen.value?.session === entry?.session) this.#revision = Math.max(this.#revision, seen.revision);
    const asked = now();
    const write = { key: nodeKey(node), text: JSON.stringify(entry), after: this.#revision };
    this.#revision = await bucket.write(write, ttlMs, stopPart * ttlMs);
    this.#granted = asked;
    this.#refusals = 0;
    view.noteNode(node, entry, this.#revision);
    if (this.#stopping === undefined && entry === this.#entry) onExtended(asked + endPart * ttlMs);
  }

  #lose(reason: string): void {
    if (this.#stopping !== undefined || this.#entry === undefined) return;
    const { log, onLost } = this.#options;
    log.warn(`the lease of this node is lost, its rules are stopped: ${reason}`);
    this.#entry = undefined;
    this.#stopping = onLost(reason).finally(() => {
      this.#stopping = undefined;
    });
  }
}
