/**
 * The way of a sink's messages to its connector, as a chain of stages: where messages may wait on disk a retry queue
 * stands before the connector. A cache is in the chain from the start. The retry queue of a rule comes in when the
 * connector takes less than it gets, and goes when all that waited is out. Where messages wait for their
 * acknowledgement it is in the chain from the first one, since what only the connector has can't be brought to disk any
 * more.
 */
import type { AllowedPaths } from '../../../base/files/allowed-paths.js';
import type { Logger } from '../../../base/log/log.js';
import type { Sink, SinkChunk, SinkContext } from '../../../connectors/running.js';
import type { CacheSettings, RetryQueueSettings, SinkSpec } from '../../link/protocol.js';
import type { Stage } from '../stage/stage.js';
import { type Before, type QueueOwner, RetryQueue } from './retry/retry-queue.js';

/** The sink of a rule. */
export interface ChainOwner extends QueueOwner, SinkContext {
  /** A source of the rule has had messages that are to be acknowledged. */
  readonly isAcknowledged: boolean;
}

/** Messages written together, and those that may wait in memory for it. */
const pageMessages = 256;
const memoryMessages = 16_384;

export class OutputChain implements Sink, SinkContext {
  readonly #connector: Sink;
  readonly #end: Stage<SinkChunk>;
  /** First stage of the chain: the retry queue, or the connector. */
  #first: Stage<SinkChunk>;
  #queue: RetryQueue | undefined;
  /** The queue is in the chain. */
  #isQueued = false;
  readonly #isCache: boolean;
  /** Settings of a retry queue that enters the chain when it is needed; undefined with a cache, or without both. */
  readonly retry: RetryQueueSettings | undefined;

  constructor(
    { cache, retryQueue }: Pick<SinkSpec, 'cache' | 'retryQueue'>,
    private readonly owner: ChainOwner,
    make: (context: SinkContext) => Sink,
  ) {
    this.#isCache = cache !== undefined;
    this.retry = cache === undefined ? retryQueue : undefined;
    this.#connector = make(this);
    this.#end = endOf(this.#connector);
    this.#first = this.#end;
    if (cache !== undefined) this.#enter(cache);
    else if (this.retry !== undefined && (this.retry.awaits !== 'nobody' || this.retry.hasRest))
      this.begin({ messages: 0, bytes: 0 }, true);
  }

  /** The queue while it is in the chain. */
  get current(): RetryQueue | undefined {
    return this.#isQueued ? this.#queue : undefined;
  }

  /** The queue when it holds or held messages or has a fault; with a cache always. */
  get used(): RetryQueue | undefined {
    const queue = this.#queue;
    if (queue === undefined || this.#isCache) return queue;
    return queue.counts.added > 0 || queue.onDisk > 0 || queue.trouble !== '' ? queue : undefined;
  }

  /** Puts the queue into the chain; `before` counts the messages that the connector has already. */
  begin(before: Before, isAway: boolean): void {
    const { retry } = this;
    if (this.#isQueued || retry === undefined) return;
    const queue = this.#enter(queueSettings(retry));
    const isSafe = retry.awaits === 'checkpoint' || this.owner.isAcknowledged;
    queue.begin(isSafe ? before : { ...before, bytes: 0 }, isAway);
    // Nobody waits for these bytes, and they must not count against the bound of new ones.
    if (!isSafe && before.bytes > 0) this.owner.accepted(before.bytes, 0);
  }

  #enter(settings: CacheSettings): RetryQueue {
    this.#queue ??= new RetryQueue(settings, this.owner, this.#connector, () => this.#drained());
    this.#isQueued = true;
    this.#first = this.#queue;
    return this.#queue;
  }

  /** Takes the queue out of the chain, once nothing waits there or with the connector. */
  #drained(): void {
    const { retry } = this;
    if (retry === undefined || this.#queue?.isAway === true || retry.awaits === 'checkpoint') return;
    if (retry.awaits !== 'nobody' && this.owner.isAcknowledged) return;
    this.#isQueued = false;
    this.#first = this.#end;
  }

  // Methods for the rule's sink

  get peer(): string | undefined {
    return this.#connector.peer;
  }

  renew(conf: object): void {
    this.#connector.renew?.(conf);
  }

  async open(): Promise<void> {
    if (this.#isQueued) return this.#queue!.open();
    await this.#connector.open();
    // The queue came in meanwhile.
    if (this.#isQueued) this.#queue!.resume();
    return undefined;
  }

  write(chunk: SinkChunk): void {
    this.#first.write(chunk);
  }

  flush(): Promise<void> {
    return (this.current ?? this.#connector).flush();
  }

  /** Resolves when the written output survives a loss of power. */
  sync(): Promise<void> {
    return this.#connector.sync?.() ?? Promise.resolve();
  }

  close(): Promise<void> {
    return (this.#queue ?? this.#connector).close();
  }

  // Methods for the connector and the queue

  get aesKey(): string | undefined {
    return this.owner.aesKey;
  }

  get keepsUnsent(): boolean {
    return this.#isCache || this.#isQueued;
  }

  accepted(bytes: number, messages: number): void {
    if (this.#isQueued) this.#queue!.accepted(messages);
    else this.owner.accepted(bytes, messages);
  }

  failed(bytes: number, messages: number, reason: string): void {
    if (this.#isQueued) this.#queue!.failed(messages, reason);
    else this.owner.failed(bytes, messages, reason);
  }

  refused(refused: Uint8Array, bytes: number, messages: number, reason: string): void {
    if (this.#isQueued) this.#queue!.refused(refused, messages, reason);
    else this.owner.refused(refused, bytes, messages, reason);
  }

  disconnected(reason: string): void {
    if (this.#isQueued) this.#queue!.disconnected();
    // Messages from now on wait for the next connection.
    this.owner.disconnected(reason, true);
  }

  get isSynced(): boolean {
    return this.#isCache && this.owner.isSynced === true;
  }

  get ruleId(): string {
    return this.owner.ruleId;
  }

  get dynamic(): ReadonlySet<string> {
    return this.owner.dynamic;
  }

  get hasHeaders(): boolean {
    return this.owner.hasHeaders === true;
  }

  get log(): Logger {
    return this.owner.log;
  }

  get paths(): AllowedPaths {
    return this.owner.paths;
  }

  shared<T>(key: string, make: () => T): T {
    return this.owner.shared(key, make);
  }
}

/** The connector, as the end of the chain. */
function endOf(connector: Sink): Stage<SinkChunk> {
  return {
    write: (chunk) => {
      connector.write(chunk);
      return true;
    },
    isFull: false,
    resume: () => {},
    drain: () => {},
    close: () => {},
  };
}

function queueSettings(settings: RetryQueueSettings): CacheSettings {
  const { folder, awaits, dropsOldest, maxDiskBytes, minFreeBytes } = settings;
  return {
    isRetryQueue: true,
    folder,
    pageMessages,
    memoryMessages,
    maxMessages: Number.POSITIVE_INFINITY,
    maxDiskBytes,
    minFreeBytes,
    dropsOldest,
    isSynced: awaits !== 'nobody',
    isCleanedAtStop: false,
    resendIntervalMs: 0,
  };
}
