/**
 * This node among the others: it has an entry in the bucket of leases, and its rules are its own as long as that is
 * there. Others remove it when they hear no beat of the node for the time of its lease (deaths.ts). The node counts
 * that time from the moment at which it asked NATS to take the beat, which is before anybody has seen it: it has
 * stopped when its entry goes.
 */
import { randomUUID } from 'node:crypto';
import type { Logger } from '../base/log/log.js';
import { OwnBeat } from './beats.js';
import type { Bucket } from './bucket.js';
import { WriteFailure } from './bucket.js';
import { clusterErrors } from './errors.js';
import { type LeaseView, type NodeEntry, nodeKey } from './lease-view.js';

/**
 * Parts of the time of a lease: between two beats, after one that nothing has taken, until rules are stopped in order,
 * until they must be gone.
 */
const beatPart = 0.25;
const againPart = 1 / 12;
/** Longest wait for NATS to take the entry of this node, as a part of the time of a lease. */
const entryPart = 0.5;
const stopPart = 0.7;
const endPart = 0.95;

export interface SessionOptions {
  readonly bucket: Bucket;
  /** Where the beats go: one that is taken by any of them keeps the lease. */
  readonly beats: readonly Bucket[];
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
  readonly #beats: readonly OwnBeat[];
  #entry: NodeEntry | undefined;
  #revision = 0;
  /** Time of the last request with a beat that NATS took. */
  #granted = 0;
  #isAsked = false;
  /** Why this node can't have rules. */
  #reason: string | undefined;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  #again: NodeJS.Timeout | undefined;
  #stopping: Promise<void> | undefined;
  #isOpening = false;
  #isTaken = false;
  readonly #since = Date.now();

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#beats = options.beats.map((bucket) => new OwnBeat(bucket, options.node, options.now));
  }

  /** Id of the session; undefined while this node has none, so that it may not have rules. */
  get id(): string | undefined {
    return this.#stopping === undefined ? this.#entry?.session : undefined;
  }

  get isDraining(): boolean {
    return this.#isAsked || this.#reason !== undefined;
  }

  /** Joins: from now on this node may have rules. */
  async join(): Promise<void> {
    this.#timer = setInterval(() => void this.#turn(), beatPart * this.#options.ttlMs);
    await this.#turn();
  }

  /** NATS was away and is back: it gets a beat at once. */
  beat(): void {
    if (this.#timer !== undefined) void this.#turn();
  }

  /** Says whether this node gives its rules away. */
  async setDraining(isDraining: boolean): Promise<void> {
    this.#isAsked = isDraining;
    await this.#tell();
  }

  /** Says why this node can't have rules, or that it can again. */
  async setUnfit(reason: string | undefined): Promise<void> {
    this.#reason = reason;
    await this.#tell();
  }

  /** Leaves; others may have its rules at once. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    clearTimeout(this.#again);
    const entry = this.#entry;
    if (entry === undefined) return;
    const { bucket, node } = this.#options;
    await bucket.write({ key: nodeKey(node), text: undefined, after: this.#revision }).catch(() => {});
    await Promise.all(this.#beats.map((beat) => beat.end(entry.session)));
  }

  async #turn(): Promise<void> {
    if (this.#isClosed) return;
    this.#watch();
    if (this.#stopping !== undefined) return;
    const session = this.#entry?.session;
    if (session === undefined) return this.#open();
    const asked = await this.#beat(session, (beat, timeoutMs) => beat.renew(session, timeoutMs));
    if (asked === undefined) this.#turnSoon();
    // What others are to know of this node may not have reached them.
    if (this.#entry?.isDraining !== this.isDraining || this.#entry.reason !== this.#reason) await this.#tell();
  }

  /** NATS did not take what it was to take. */
  #turnSoon(): void {
    clearTimeout(this.#again);
    if (!this.#isClosed) this.#again = setTimeout(() => void this.#turn(), againPart * this.#options.ttlMs);
  }

  async #open(): Promise<void> {
    if (this.#isOpening) return;
    this.#isOpening = true;
    try {
      if (!(await this.#begin())) this.#turnSoon();
    } finally {
      this.#isOpening = false;
    }
  }

  /** Begins a session; returns whether this node has one. */
  async #begin(): Promise<boolean> {
    const { node, view, ttlMs, onExtended, onOpen } = this.#options;
    const session = randomUUID();
    const asked = await this.#beat(session, (beat, timeoutMs) => beat.open(session, timeoutMs));
    this.#noteTaken(asked === undefined && this.#beats.some(({ isTaken }) => isTaken));
    if (asked === undefined || this.#isClosed) return false;
    this.#revision = view.node(node).revision;
    const entry = { session, url: this.#options.url(), since: this.#since, isHanded: true, ...this.#drain };
    if (!(await this.#write(entry)) || this.#isClosed) return false;
    this.#granted = Math.max(asked, this.#granted);
    onExtended(this.#granted + endPart * ttlMs);
    onOpen();
    return true;
  }

  #noteTaken(isTaken: boolean): void {
    const { log, node } = this.#options;
    if (isTaken && !this.#isTaken) log.error(clusterErrors.sameName(node).message);
    this.#isTaken = isTaken;
  }

  /** Sends a beat to all buckets; resolves when the first has taken it, with the time of the request. */
  #beat(
    session: string,
    send: (beat: OwnBeat, timeoutMs: number) => Promise<number | undefined>,
  ): Promise<number | undefined> {
    const { ttlMs, onExtended } = this.#options;
    const sent = this.#beats.map(async (beat) => {
      const asked = await send(beat, stopPart * ttlMs);
      if (asked !== undefined && this.id === session && asked > this.#granted) {
        this.#granted = asked;
        onExtended(asked + endPart * ttlMs);
      }
      return asked;
    });
    return firstOf(sent);
  }

  /** Stops the rules when no beat was taken for too long, or others have ended the session. */
  #watch(): void {
    const { now, ttlMs, view, node } = this.#options;
    const entry = this.#entry;
    if (entry === undefined) return;
    const seen = view.node(node);
    const isOver = seen.revision > this.#revision && seen.value?.session !== entry.session;
    if (now() - this.#granted > stopPart * ttlMs) this.#lose('NATS did not renew it');
    else if (isOver || this.#beats.every((beat) => beat.hasEnd(entry.session))) this.#lose('it has run out');
  }

  /** Tells the others what has changed of this node. */
  async #tell(): Promise<void> {
    if (this.#entry !== undefined) await this.#write({ ...this.#entry, ...this.#drain });
  }

  get #drain(): Pick<NodeEntry, 'isDraining' | 'reason'> {
    return { isDraining: this.isDraining, reason: this.#reason };
  }

  /** Writes the entry of this node; returns whether it is there. */
  async #write(entry: NodeEntry): Promise<boolean> {
    const { bucket, node, view, ttlMs } = this.#options;
    const seen = view.node(node);
    const before = this.#entry;
    // A write whose answer was lost.
    if (seen.value?.session === entry.session) this.#revision = Math.max(this.#revision, seen.revision);
    try {
      const text = JSON.stringify(entry);
      const write = { key: nodeKey(node), text, after: this.#revision };
      this.#revision = await bucket.write(write, entryPart * ttlMs);
    } catch (error) {
      if (!(error instanceof WriteFailure)) throw error;
      return false;
    }
    view.noteNode(node, entry, this.#revision);
    // The session may be over while NATS answered: it does not come back.
    if (this.#entry !== before) return false;
    this.#entry = entry;
    return true;
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

/** The first value that is there, as soon as it is; undefined when all have ended without one. */
function firstOf(all: readonly Promise<number | undefined>[]): Promise<number | undefined> {
  const none = Promise.all(all).then((values) => values.find((value) => value !== undefined));
  return Promise.race(all.map(async (one) => (await one) ?? none));
}
