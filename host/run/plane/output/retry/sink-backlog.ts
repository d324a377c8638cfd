/**
 * The backlog of a rule at one of its sinks: beside the way while the sink takes what it gets, in the way as soon as it
 * does not, until all that waited is out. Where messages wait for their acknowledgement it is in the way from the first
 * one, since what only the connector has can't be brought to disk any more.
 */
import type { Sink, SinkChunk, SinkContext } from '../../../../connectors/running.js';
import type { BacklogSettings, CacheSettings } from '../../../link/protocol.js';
import { type Before, CachedSink, type CacheHost } from './cached-sink.js';
import { InBetween } from './in-between.js';

/** What the sink of a rule gives its backlog. */
export interface BacklogHost extends CacheHost {
  /** A source of the rule has had messages that are acknowledged. */
  readonly isAcknowledged: boolean;
}

/** Messages written together, and those that may wait in memory for it. */
const pageMessages = 256;
const memoryMessages = 16_384;

export class SinkBacklog extends InBetween<BacklogHost> implements Sink, SinkContext {
  readonly #inner: Sink;
  #cached: CachedSink | undefined;
  #isIn = false;

  constructor(
    readonly settings: BacklogSettings,
    host: BacklogHost,
    make: (context: SinkContext) => Sink,
  ) {
    super(host);
    this.#inner = make(this);
    if (settings.awaits !== 'nobody' || settings.hasRest) this.begin({ messages: 0, bytes: 0 }, true);
  }

  /** Set while it is in the way. */
  get current(): CachedSink | undefined {
    return this.#isIn ? this.#cached : undefined;
  }

  /** Set when there is, or was, something in it. */
  get used(): CachedSink | undefined {
    const cached = this.#cached;
    return cached !== undefined && (cached.counts.added > 0 || cached.onDisk > 0 || cached.trouble !== '')
      ? cached
      : undefined;
  }

  /** From now on messages go through it; the connector has some already. */
  begin(before: Before, isAway: boolean): void {
    if (this.#isIn) return;
    this.#cached ??= new CachedSink(this.#cacheSettings, this.#cacheHost, () => this.#inner);
    this.#isIn = true;
    const isSafe = this.settings.awaits === 'checkpoint' || this.host.isAcknowledged;
    this.#cached.begin(isSafe ? before : { ...before, bytes: 0 }, isAway);
    // Nobody waits for it, and it must not count against the bound for what comes now.
    if (!isSafe && before.bytes > 0) this.host.accepted(before.bytes, 0);
  }

  get #cacheSettings(): CacheSettings {
    const { folder, awaits, dropsOldest, maxDiskBytes, minFreeBytes } = this.settings;
    return {
      isBacklog: true,
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

  get #cacheHost(): CacheHost {
    const { host } = this;
    const drained = () => this.#drained();
    return {
      ruleId: host.ruleId,
      label: host.label,
      dynamic: host.dynamic,
      log: host.log,
      paths: host.paths,
      limitBytes: host.limitBytes,
      measuresAll: host.measuresAll,
      host: host.host,
      shared: (key, make) => host.shared(key, make),
      taken: (messages) => host.taken(messages),
      accepted: (bytes, messages) => host.accepted(bytes, messages),
      failed: (bytes, messages, reason) => host.failed(bytes, messages, reason),
      disconnected: (reason, isPatient) => host.disconnected(reason, isPatient),
      drained,
    };
  }

  #drained(): void {
    const { awaits } = this.settings;
    if (this.#cached?.isAway === true || awaits === 'checkpoint') return;
    if (awaits === 'nobody' || !this.host.isAcknowledged) this.#isIn = false;
  }

  // What the rule's sink calls

  get peer(): string | undefined {
    return this.#inner.peer;
  }

  async open(): Promise<void> {
    if (this.#isIn) return this.#cached!.open();
    await this.#inner.open();
    // It came into the way meanwhile.
    if (this.#isIn) this.#cached!.isUp();
    return undefined;
  }

  write(chunk: SinkChunk): void {
    if (this.#isIn) this.#cached!.write(chunk);
    else this.#inner.write(chunk);
  }

  flush(): Promise<void> {
    return (this.current ?? this.#inner).flush();
  }

  sync(): Promise<void> {
    return this.#inner.sync?.() ?? Promise.resolve();
  }

  close(): Promise<void> {
    return (this.#cached ?? this.#inner).close();
  }

  // What the connector calls

  get keepsUnsent(): boolean {
    return this.#isIn;
  }

  accepted(bytes: number, messages: number): void {
    if (this.#isIn) this.#cached!.accepted(bytes, messages);
    else this.host.accepted(bytes, messages);
  }

  failed(bytes: number, messages: number, reason: string): void {
    if (this.#isIn) this.#cached!.failed(bytes, messages, reason);
    else this.host.failed(bytes, messages, reason);
  }

  disconnected(reason: string): void {
    if (this.#isIn) this.#cached!.disconnected(reason);
    else this.host.disconnected(reason, true);
  }
}
