/**
 * A retry queue: the stage before a connector. Messages go on to the connector as long as it takes them, and otherwise
 * wait on disk. The connector holds a bounded number of them; those that it has not passed on when its connection is
 * lost it keeps, and publishes first on the next one.
 */
import { rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { emptyHistogram } from '../../../../../kernels/values/histogram.js';
import { reasonOf } from '../../../../base/errors.js';
import type { Logger } from '../../../../base/log/log.js';
import type { Sink, SinkChunk } from '../../../../connectors/running.js';
import type { CacheSettings } from '../../../link/protocol.js';
import { chunkOf, type Item, itemOf, type Ticket } from '../../queue/item.js';
import { marked, memberOf } from '../../queue/mark.js';
import type { Stage, WhenFull } from '../../stage/stage.js';
import { InOrder } from '../letters/in-order.js';
import { DiskWait } from './disk-wait.js';
import { InFlight } from './in-flight.js';
import { Pace } from './pace.js';
import type { CacheCounts, CacheTimes, SpillOwner } from './spill-options.js';
import { SpillQueue } from './spill-queue.js';

/** The part of a rule that its caches use. */
export interface RuleOfCache {
  /** Reports damaged messages that were safe on disk; undefined for an unknown number. */
  damaged?(messages: number | undefined, reason: string): void;
}

/** The part of a rule's sink that its queue uses. */
export interface QueueOwner {
  /** `sink mqtt` */
  readonly label: string;
  /** Bytes that may wait in memory before the sources are stopped. */
  readonly limitBytes: number;
  readonly measuresAll: boolean;
  /** See `SinkContext`. */
  readonly dynamic: ReadonlySet<string>;
  readonly log: Logger;
  readonly host: RuleOfCache;
  /** Counts messages that an earlier run left. */
  taken(messages: number): void;
  /** See `SinkContext`. */
  accepted(bytes: number, messages: number): void;
  failed(bytes: number, messages: number, reason: string): void;
  /**
   * Counts a message that the other side refuses for good; `safe` is called when its dead letter is out or in a queue,
   * at once without one.
   */
  lost(refused: Uint8Array, messages: number, reason: string, safe: () => void): void;
}

/** Messages that the connector got before there was a queue. */
export interface Before {
  readonly messages: number;
  /** Bytes of the messages that are not confirmed yet. */
  readonly bytes: number;
}

/** Time in which the connector may still send at a stop, ms; the rest stays in the queue. */
const lastMs = 1000;
const retryMs = 1000;
/** A cache whose files are still being closed by an earlier run. */
const closing = new Map<string, Promise<void>>();

export class RetryQueue implements Stage<SinkChunk>, SpillOwner {
  readonly counts: CacheCounts = { added: 0, popped: 0, flushes: 0, loads: 0, dropped: 0, damaged: 0, cutOff: 0 };
  readonly times: CacheTimes | undefined;
  /** The connector has no connection. */
  isAway = true;
  /** The first attempt to connect is over. */
  #isTried = false;
  /** New messages; the only queue unless those that waited have one of their own. */
  readonly #live: SpillQueue;
  /** Messages that wait, or waited, for a connection. */
  readonly #kept: SpillQueue;
  readonly #queues: readonly SpillQueue[];
  readonly #opened: Promise<void>;
  #isOpen = false;
  #openTrouble = '';
  /** Tickets of messages that are not safe yet, oldest first. */
  readonly #tickets: Ticket[] = [];
  /** Messages in flight. */
  readonly #inFlight: InFlight;
  /** Messages that have left, as far as they may be counted. */
  readonly #left = new InOrder((messages) => this.#leave(messages));
  /** Pace of the resend queue. */
  readonly #pace: Pace;
  #isPumping = false;
  /** Queue of the messages that were handed over last. */
  #last: SpillQueue | undefined;
  /** Messages that the connector had before the queue and has not sent yet. */
  #before = 0;
  #beforeTicket: Ticket | undefined;
  readonly #diskWait: DiskWait;
  #isStopping = false;
  #isClosed = false;
  readonly #member: Buffer | undefined;
  readonly #onIdle: (() => void)[] = [];

  constructor(
    readonly settings: CacheSettings,
    private readonly owner: QueueOwner,
    private readonly connector: Sink,
    /** Called when nothing waits any more. */
    private readonly drained: () => void = () => {},
  ) {
    this.times = owner.measuresAll ? { flush: emptyHistogram(), load: emptyHistogram() } : undefined;
    const { folder } = settings;
    const queue = (name: string) =>
      new SpillQueue(
        { ...this.#options, folder: folder === undefined ? undefined : join(folder, name) },
        this,
        this.counts,
        this.times,
      );
    this.#live = queue('main');
    this.#kept = settings.alterQueue === undefined ? this.#live : queue('resend');
    this.#queues = this.#kept === this.#live ? [this.#live] : [this.#live, this.#kept];
    const field = settings.alterQueue?.indicatorField ?? '';
    this.#member = field === '' ? undefined : memberOf(field);
    // A sink with several targets may send messages out of their order.
    this.#inFlight = new InFlight(owner.dynamic.size > 0);
    this.#diskWait = new DiskWait(this, folder);
    this.#pace = new Pace(settings.resendIntervalMs, () => this.#pump());
    this.#opened = this.#openQueues();
  }

  get #options() {
    const { isSynced, pageMessages, memoryMessages, maxMessages, dropsOldest } = this.settings;
    const { maxDiskBytes = Number.POSITIVE_INFINITY, minFreeBytes = 0 } = this.settings;
    const { limitBytes } = this.owner;
    const whenFull: WhenFull = dropsOldest ? 'drop oldest' : 'block';
    const bytes = {
      memoryBytes: limitBytes / 4,
      keptBytes: limitBytes,
      maxBytes: this.isDurable ? Number.POSITIVE_INFINITY : limitBytes,
    };
    return { isSynced, pageMessages, memoryMessages, maxMessages, whenFull, maxDiskBytes, minFreeBytes, ...bytes };
  }

  /** Opens the queues, again until the disk can be read: older messages there go first. */
  async #openQueues(): Promise<void> {
    const { folder } = this.settings;
    if (folder !== undefined) await closing.get(folder);
    for (;;) {
      if (this.#isClosed) return;
      try {
        let messages = 0;
        for (const queue of this.#queues) messages += await queue.open();
        this.#isOpen = true;
        this.#openTrouble = '';
        if (messages > 0) {
          this.#diskWait.begin();
          this.owner.taken(messages);
          this.info(`has ${messages.toLocaleString('en')} messages that an earlier run left`);
        }
        break;
      } catch (error) {
        const reason = reasonOf(error);
        if (reason !== this.#openTrouble) this.warn(`can't be opened: ${reason}`);
        this.#openTrouble = reason;
        await new Promise((resolve) => setTimeout(resolve, retryMs));
      }
    }
    for (const queue of this.#queues) queue.hurry();
    this.#setPace();
    this.ready();
  }

  // Methods for the rule's sink

  /** Enters the chain before a connector that is at work; with `isAway` the connector has no connection. */
  begin(before: Before, isAway: boolean): void {
    this.isAway = isAway;
    this.#isTried = true;
    if (before.messages <= 0) {
      this.#pump();
      return;
    }
    this.#before = before.messages;
    this.#inFlight.add(undefined, before.messages, before.bytes);
    if (before.bytes <= 0) return;
    this.#beforeTicket = { bytes: before.bytes, parts: 1 };
    this.#tickets.push(this.#beforeTicket);
  }

  /** No message waits, neither in the queue nor with the connector. */
  get isIdle(): boolean {
    return this.#isOpen && this.#inFlight.isEmpty && this.length === 0;
  }

  /** The waiting messages survive the process. */
  get isDurable(): boolean {
    return this.settings.folder !== undefined;
  }

  async open(): Promise<void> {
    try {
      await this.connector.open();
    } finally {
      this.#isTried = true;
    }
    this.resume();
  }

  /** The connector is connected. */
  resume(): void {
    this.#setPace();
    this.isAway = false;
    this.#pump();
    this.#checkIdle();
  }

  write(chunk: SinkChunk): boolean {
    const item = itemOf(chunk, performance.now());
    if (item.ticket !== undefined) this.#tickets.push(item.ticket);
    if (this.#pace.isOn && !this.isAway) this.#pace.allowed += item.messages;
    const queue = this.#queueOfNew;
    queue.add(item);
    this.#pump();
    queue.settleMemory();
    return true;
  }

  get #queueOfNew(): SpillQueue {
    if (this.#kept === this.#live) return this.#live;
    const waits = this.settings.alterQueue?.priority === 1 && this.#kept.hasWaiting;
    return waits || (this.isAway && this.#isTried) ? this.#kept : this.#live;
  }

  /** To be called when a source waits until the written messages are safe. */
  awaited(): void {
    for (const queue of this.#queues) queue.awaited();
  }

  /** Messages wait in the queue. */
  get isFull(): boolean {
    return this.length > 0;
  }

  drain(): Promise<void> {
    return this.flush();
  }

  /** Resolves when all written messages are sent or on disk; rejects when that fails. */
  async flush(): Promise<void> {
    if (!this.isDurable) {
      void this.connector.flush().catch(() => {});
      return this.emptied();
    }
    this.#isStopping = true;
    this.#pace.pause();
    if (!this.isAway && this.#before > 0) await this.connector.flush().catch(() => {});
    else if (!this.isAway) {
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, lastMs);
      });
      await Promise.race([this.connector.flush().catch(() => {}), late]);
      clearTimeout(timer);
    }
    await this.#opened;
    for (const queue of this.#queues) await queue.keep();
    return undefined;
  }

  /** Resolves when all messages are sent. */
  emptied(): Promise<void> {
    if (this.isIdle) return Promise.resolve();
    return new Promise((resolve) => this.#onIdle.push(resolve));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isStopping = true;
    this.#isClosed = true;
    this.#pace.stop();
    const { folder } = this.settings;
    if (folder === undefined) return this.#close();
    const done = this.#close().finally(() => {
      if (closing.get(folder) === done) closing.delete(folder);
    });
    closing.set(folder, done);
    return done;
  }

  async #close(): Promise<void> {
    await this.#opened;
    if (this.isDurable) {
      for (const queue of this.#queues) await queue.keep().catch((error: unknown) => this.warn(reasonOf(error)));
    }
    await this.connector.close();
    for (const queue of this.#queues) {
      if (this.settings.isCleanedAtStop) await queue.remove();
      else await queue.close();
    }
    await this.#leaveFolder();
    for (const call of this.#onIdle.splice(0)) call();
  }

  /** Removes the folders of the cache when they are empty. */
  async #leaveFolder(): Promise<void> {
    const { folder } = this.settings;
    if (folder === undefined) return;
    try {
      await rmdir(folder);
      await rmdir(dirname(folder));
    } catch {
      // The folder is not empty, or was never made.
    }
  }

  /** Messages that the sink has not sent yet. */
  get length(): number {
    return this.#queues.reduce((total, queue) => total + queue.length, 0);
  }

  get onDisk(): number {
    return this.#queues.reduce((total, queue) => total + queue.onDisk, 0);
  }

  /** Messages that a kill of the process would lose. */
  get unsafe(): number {
    return this.#queues.reduce((total, queue) => total + queue.unsafe, this.#before);
  }

  /** Bytes of the queue's files. */
  get diskBytes(): number {
    return this.#queues.reduce((total, queue) => total + queue.diskBytes, 0);
  }

  /** Bytes that the connector got before the queue entered the chain, and has not sent yet. */
  get beforeBytes(): number {
    return this.#beforeTicket?.bytes ?? 0;
  }

  /** Sentence on the messages on disk, their folder and how long they have waited; empty for the first moments. */
  get holding(): string {
    return this.#diskWait.text;
  }

  /** Fault of the queue; empty without one. */
  get trouble(): string {
    if (this.#openTrouble !== '') return `its ${this.#name} can't be opened: ${this.#openTrouble}`;
    const reason = this.#queues.map(({ trouble }) => trouble).find((text) => text !== '');
    return reason === undefined ? '' : `its ${this.#name} ${reason}`;
  }

  get #name(): string {
    return this.settings.isRetryQueue === true ? 'retry queue' : 'cache';
  }

  // Handing over

  /** Gives the connector as much as it may have. */
  #pump(): void {
    // A connector may pass messages on at once, while this loop is running.
    if (this.#isPumping || this.isAway || this.#isStopping || !this.#isOpen) return;
    this.#isPumping = true;
    try {
      for (let queue = this.#next(); queue !== undefined; queue = this.#next()) this.#hand(queue);
    } finally {
      this.#isPumping = false;
    }
    this.#setPace();
  }

  /** The queue whose messages go next; undefined when none may. */
  #next(): SpillQueue | undefined {
    if (!this.#inFlight.hasRoom(this.owner.limitBytes / 2)) return undefined;
    const live = this.#live.peek();
    if (this.#kept === this.#live) return live !== undefined && this.#pace.maySend ? this.#live : undefined;
    const kept = this.#pace.maySend ? this.#kept.peek() : undefined;
    if (kept === undefined) return live && this.#live;
    switch (this.settings.alterQueue?.priority) {
      case 1:
        return this.#kept;
      case -1: {
        // Messages of the resend queue go only when no others do.
        const isIdle = !this.#live.hasWaiting && this.#inFlight.isAllOf(this.#kept);
        return live !== undefined ? this.#live : isIdle ? this.#kept : undefined;
      }
      default:
        return live === undefined || this.#last === this.#live ? this.#kept : this.#live;
    }
  }

  #hand(queue: SpillQueue): void {
    this.#last = queue;
    const isPaced = this.#pace.isOn && queue === this.#kept;
    const item = queue.take(isPaced ? this.#pace.allowed : undefined);
    if (isPaced) this.#pace.allowed -= item.messages;
    this.#inFlight.add(queue, item.messages, item.bytes.length);
    this.connector.write(chunkOf(queue === this.#kept && this.#kept !== this.#live ? this.#asResent(item) : item));
  }

  #asResent(item: Item): Item {
    const { destination } = this.settings.alterQueue ?? {};
    const again = this.#member === undefined ? item : marked(item, this.#member);
    return destination === undefined ? again : { ...again, values: { ...again.values, ...destination } };
  }

  /** Removes messages in flight that were sent or lost. */
  #leave(messages: number): void {
    this.#inFlight.leave(messages, (queue, part) => (queue === undefined ? this.#leaveBefore(part) : queue.out(part)));
    this.#pump();
    this.#checkIdle();
  }

  #leaveBefore(messages: number): void {
    this.#before -= messages;
    if (this.#before > 0 || this.#beforeTicket === undefined) return;
    this.#beforeTicket.parts = 0;
    this.#beforeTicket = undefined;
    this.safe();
  }

  #setPace(): void {
    const { hasWaiting, waitingSpilled } = this.#kept;
    const keepsBack = hasWaiting && (this.isAway || this.#pace.isOn || waitingSpilled > 0);
    this.#pace.set(hasWaiting, keepsBack, this.isAway);
  }

  #checkIdle(): void {
    this.#diskWait.look();
    if (!this.isIdle) return;
    for (const call of this.#onIdle.splice(0)) call();
    this.drained();
  }

  // Methods for the queues

  safe(): void {
    for (let first = this.#tickets[0]; first?.parts === 0; first = this.#tickets[0]) {
      this.#tickets.shift();
      this.owner.accepted(first.bytes, 0);
    }
  }

  ready(): void {
    this.#pump();
    this.#checkIdle();
  }

  spilled(): void {
    this.#diskWait.begin();
  }

  lost(messages: number, reason: string): void {
    this.owner.failed(0, messages, reason);
  }

  damaged(messages: number | undefined, reason: string): void {
    this.owner.host.damaged?.(messages, `${this.#name} of ${this.owner.label}: ${reason}`);
  }

  warn(line: string): void {
    this.owner.log.warn(`${this.#name} of ${this.owner.label}: ${line}`);
  }

  info(line: string): void {
    this.owner.log.info(`${this.#name} of ${this.owner.label}: ${line}`);
  }

  // Methods for the connector

  accepted(messages: number): void {
    this.owner.accepted(0, messages);
    this.#left.out(messages);
  }

  refused(refused: Uint8Array, messages: number, reason: string): void {
    this.owner.lost(refused, messages, reason, this.#left.hold(messages));
  }

  failed(messages: number, reason: string): void {
    this.owner.failed(0, messages, reason);
    this.#left.out(messages);
  }

  disconnected(): void {
    this.isAway = true;
    this.#setPace();
  }
}
