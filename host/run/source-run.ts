/** A running source: one connector instance and one kernel stream, for one rule or for all rules of a shared stream. */
import type { Kernel, StreamCounters, StreamHandle } from '../../kernels/api.js';
import { ProtocolError } from '../../kernels/error.js';
import { reasonOf } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import type { Connector, Source, SourceContext, SourceForm } from '../connectors/define.js';
import { payloadsOf } from '../connectors/frames.js';
import { payloadsOfPackets } from '../connectors/mqtt/payloads.js';
import { Connection, type ConnectionOwner } from './connection.js';
import type { SourceSpec } from './protocol.js';
import type { RuleRun } from './rule-run.js';
import { type Redact, redactedLog, redactOf } from './secret-props.js';
import type { SinkRun } from './sink-run.js';

/** Longest piece of input given to the kernel in one call, so that a call stays a slice of a few milliseconds. */
const sliceBytes = 256 * 1024;
const defaultMaxDepth = 512;
const defaultMaxMessageBytes = 16 * 1024 * 1024;

/** What a source needs from the data plane. */
export interface SourceHost {
  readonly kernel: Kernel;
  readonly log: Logger;
  readonly coalesceMs: number;
  /** Time of rows and windows: epoch ms that never go back. */
  now(): number;
  shared<T>(key: string, make: () => T): T;
  /** Runs work of the kernel and what follows from it; `whose` names the rules it is for. */
  work(whose: ReadonlySet<RuleRun>, call: () => void, source?: SourceRun, input?: Uint8Array): void;
  /** The source can't run at all. */
  refused(source: SourceRun, reason: string): void;
  ended(source: SourceRun): void;
}

/** QoS 1 packet ids that wait until so many sinks have passed on what came from them. */
interface Barrier {
  packetIds: Uint16Array;
  left: number;
}

export class SourceRun implements SourceContext, ConnectionOwner {
  readonly users = new Set<RuleRun>();
  readonly stream: StreamHandle;
  /** See `SourceForm`. */
  readonly endsSoon: boolean;
  readonly connection: Connection;
  /** Masks the secrets of its properties. */
  readonly redact: Redact;
  exceptions = 0;
  lastException = '';
  lastExceptionAt = 0;
  isEnded = false;
  /** Epoch ms, 0 never. */
  lastInputAt = 0;
  /** Time of all work for it, the rules' nodes included, µs. */
  workUs = 0;
  readonly #source: Source;
  readonly #form: SourceForm;
  #isClosed = false;
  /** Full sinks below this source. */
  #fullSinks = 0;
  #pause: () => void = () => {};
  #resume: () => void = () => {};
  #whenReady: (() => void)[] = [];
  #whenOver: (() => void)[] = [];
  #takePacket: (packet: Uint8Array) => void = () => {};
  #takeAcknowledge: (packetIds: Uint16Array) => void = () => {};
  #whenMalformed: (reason: string) => void = (reason) => this.exception(reason);
  #barriers: Barrier[] = [];
  /** Messages skipped for their length, as far as they were named. */
  #oversized = 0;
  #unacknowledged: Uint16Array[] = [];

  constructor(
    readonly spec: SourceSpec,
    connector: Connector,
    readonly host: SourceHost,
    readonly key: string,
  ) {
    const { source } = connector;
    if (source === undefined) throw new Error(`${connector.name} is no source`);
    this.redact = redactOf(spec.secrets);
    const form = source.form(spec.props);
    this.#form = form;
    this.endsSoon = form.endsSoon === true;
    this.stream = host.kernel.openStream({
      framing: form.framing,
      mqttVersion: form.mqttVersion,
      format: form.format === 'rows' ? 'rows' : spec.format,
      schema: spec.schema,
      strict: spec.strict,
      wholeNumbersAreInts: spec.props.useInt64ForWholeNumber === true || spec.props.useInt64ForWholeNumber === 'true',
      maxDepth: defaultMaxDepth,
      maxMessageBytes: defaultMaxMessageBytes,
    });
    try {
      this.#source = source.create(spec.props, this);
    } catch (error) {
      host.kernel.closeStream(this.stream);
      throw error;
    }
    this.connection = new Connection(this, this.redact);
  }

  /** What people are shown of input: the messages without the frames around them; nothing of rows in the engine's own form. */
  shown(input: Uint8Array): Uint8Array | undefined {
    const { format, framing, mqttVersion } = this.#form;
    if (format === 'rows') return undefined;
    if (framing === 'mqtt') return payloadsOfPackets(input, mqttVersion ?? 4);
    return framing === 'frames' ? payloadsOf(input) : input;
  }

  async connect(): Promise<void> {
    await this.#source.open();
    for (const rule of this.users) rule.debug(() => `${this.label} is open`);
  }

  refused(reason: string): void {
    this.exception(reason);
    this.host.refused(this, reason);
  }

  attemptFailed(reason: string): void {
    this.exception(reason);
  }

  /** Does nothing once it is closed. */
  start(): void {
    if (!this.#isClosed) this.connection.start();
  }

  /** Resolves when no more input comes: it is at its end or the source is closed. */
  whenOver(): Promise<void> {
    if (this.isEnded || this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => this.#whenOver.push(resolve));
  }

  /** Ends the input and frees the stream; its nodes must be released before. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.connection.stop();
    for (const call of [...this.#whenReady.splice(0), ...this.#whenOver.splice(0)]) call();
    this.host.kernel.closeStream(this.stream);
    await this.#source.close();
  }

  get counters(): StreamCounters {
    return this.host.kernel.streamCounters(this.stream);
  }

  // What the connector calls

  get name(): string {
    return this.spec.name;
  }

  get label(): string {
    return `source ${this.name}`;
  }

  get dataSource(): string {
    return this.spec.dataSource;
  }

  /** That of the rule; the lines of a stream that rules share belong to none of them. */
  get log(): Logger {
    const [rule] = this.users;
    return redactedLog(this.spec.isShared || rule === undefined ? this.host.log : rule.log, this.redact);
  }

  get coalesceMs(): number {
    return this.host.coalesceMs;
  }

  get isFull(): boolean {
    return this.#fullSinks > 0;
  }

  write(bytes: Uint8Array): boolean {
    if (this.#isClosed || this.isEnded) return true;
    let malformed: string | undefined;
    const feed = () => {
      try {
        this.#feed(bytes);
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error;
        malformed = reasonOf(error);
        this.host.kernel.resetInput(this.stream);
      }
    };
    this.host.work(this.users, feed, this, bytes);
    if (malformed !== undefined) this.#whenMalformed(malformed);
    if (this.#unacknowledged.length > 0) this.#acknowledgeLater();
    return !this.isFull;
  }

  ready(): Promise<void> {
    if (!this.isFull || this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => this.#whenReady.push(resolve));
  }

  onFlow(pause: () => void, resume: () => void): void {
    this.#pause = pause;
    this.#resume = resume;
  }

  onPacket(take: (packet: Uint8Array) => void): void {
    this.#takePacket = take;
  }

  onAcknowledge(take: (packetIds: Uint16Array) => void): void {
    this.#takeAcknowledge = take;
  }

  onMalformed(take: (reason: string) => void): void {
    this.#whenMalformed = take;
  }

  resetInput(): void {
    if (!this.#isClosed) this.host.kernel.resetInput(this.stream);
    // A new connection starts with new packet ids: late acknowledgements would mean other messages.
    this.#barriers = [];
  }

  disconnected(given: string): void {
    if (this.#isClosed) return;
    const reason = this.redact(given);
    this.exception(reason);
    this.resetInput();
    this.connection.lost(reason);
  }

  exception(reason: string): void {
    this.exceptions++;
    this.lastException = this.redact(reason);
    this.lastExceptionAt = Date.now();
    for (const rule of this.users) rule.debug(() => `${this.label}: ${this.lastException}`);
  }

  end(): void {
    if (this.#isClosed || this.isEnded) return;
    this.host.work(this.users, () => this.host.kernel.endInput(this.stream, this.host.now()), this);
    this.isEnded = true;
    for (const call of this.#whenOver.splice(0)) call();
    this.host.ended(this);
  }

  shared<T>(key: string, make: () => T): T {
    return this.host.shared(key, make);
  }

  // What the data plane calls

  /** Names messages that were skipped for their length, which the kernel only counts. */
  noteOversized(count: number): void {
    if (count === this.#oversized) return;
    const news = count - this.#oversized;
    this.#oversized = count;
    this.lastException = `${news} messages longer than ${defaultMaxMessageBytes} bytes were skipped`;
    this.lastExceptionAt = Date.now();
  }

  /** Control packet of this stream; a view valid during the call. */
  packet(packet: Uint8Array): void {
    this.#takePacket(packet);
  }

  /** QoS 1 messages taken over in the running call of the kernel. */
  taken(packetIds: Uint16Array): void {
    this.#unacknowledged.push(packetIds.slice());
  }

  #feed(bytes: Uint8Array): void {
    const { kernel } = this.host;
    const now = this.host.now();
    this.lastInputAt = Date.now();
    for (let at = 0; at < bytes.length; ) {
      const room = kernel.inputBuffer(this.stream);
      const length = Math.min(room.length, bytes.length - at, sliceBytes);
      if (length === 0) throw new Error(`the input region of stream ${this.name} takes no bytes`);
      room.set(length === bytes.length ? bytes : bytes.subarray(at, at + length));
      kernel.feed(this.stream, length, now);
      at += length;
    }
  }

  /** A sink below became full, or took up work again. */
  sinkIsFull(isFull: boolean): void {
    this.#fullSinks += isFull ? 1 : -1;
    if (isFull && this.#fullSinks === 1) this.#pause();
    if (!isFull && this.#fullSinks === 0) {
      for (const call of this.#whenReady.splice(0)) call();
      this.#resume();
    }
  }

  /** Acknowledges once every sink has passed on what it has now; at once when nothing waits. */
  #acknowledgeLater(): void {
    const waiting = new Set<SinkRun>();
    for (const rule of this.users) for (const sink of rule.sinks) if (sink.waitingBytes > 0) waiting.add(sink);
    for (const packetIds of this.#unacknowledged.splice(0)) {
      const barrier: Barrier = { packetIds, left: waiting.size };
      this.#barriers.push(barrier);
      for (const sink of waiting) {
        sink.whenPassedOn(() => {
          barrier.left--;
          this.#acknowledge();
        });
      }
    }
    this.#acknowledge();
  }

  #acknowledge(): void {
    // In order of arrival, as the protocol demands.
    while (this.#barriers.length > 0 && this.#barriers[0]!.left === 0) {
      this.#takeAcknowledge(this.#barriers.shift()!.packetIds);
    }
  }
}
