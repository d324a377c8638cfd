/**
 * A running sink of one rule: it counts waiting bytes, stops the sources at the bound, and reconnects lost connections.
 */

import type { OutputChunk } from '../../../../kernels/api.js';
import type { OutputPlan } from '../../../../kernels/plan/ir.js';
import { emptyHistogram, type Histogram } from '../../../../kernels/values/histogram.js';
import { reasonOf } from '../../../base/errors.js';
import type { AllowedPaths } from '../../../base/files/allowed-paths.js';
import type { Logger } from '../../../base/log/log.js';
import { type Redact, redactedLog, redactOf } from '../../../base/secrets/redact.js';
import type { PipedProgram } from '../../../base/structures/piped-program.js';
import type { Connector, SinkPart } from '../../../connectors/define.js';
import { dynamicProps } from '../../../connectors/loaded.js';
import { MessageCutter } from '../../../connectors/messages/frames.js';
import type { Sink, SinkContext } from '../../../connectors/running.js';
import type { SinkSpec } from '../../link/protocol.js';
import type { Acknowledgements, Barrier } from '../acknowledge/barrier.js';
import { Connection, type ConnectionOwner } from '../connect/connection.js';
import type { Reconnects } from '../connect/reconnects.js';
import { sizeText } from '../observe/size-text.js';
import type { RunningCache, RunningSink } from '../running/running.js';
import { inTime } from './in-time.js';
import type { LateMessages } from './late-messages.js';
import type { DeadLetters, LetterSink } from './letters/dead-letters.js';
import type { ChainOwner, OutputChain } from './output-chain.js';
import type { RetryQueue } from './retry/retry-queue.js';
import { type BytesOwner, SinkBytes, SinkMemory } from './sink-bytes.js';
import type { SinkHost } from './sink-host.js';
import type { MessageTaker, SinkMessages } from './sink-messages.js';
import { lateMessages, letterParts, outputChain, sinkMessages } from './sink-parts.js';
import { lossOf, troubleOf } from './sink-words.js';

/** Failures in a row, without any output sent, after which a sink ends its rule. */
const maxStrikes = 5;
/** Time for the last attempt of a sink without a connection, ms. */
const lastAttemptMs = 100;
/** Time for which a connected sink may be full before the retry queue begins, ms; longer when no other rule waits. */
const sharedPatienceMs = 100;
const patienceMs = 1000;

export class SinkRun implements RunningSink, BytesOwner, ChainOwner, ConnectionOwner, LetterSink, MessageTaker {
  readonly connection: Connection;
  #mask: Redact;
  messagesIn = 0;
  rowsIn = 0;
  messagesOut = 0;
  messagesFailed = 0;
  /** Most messages that ever waited. */
  highWater = 0;
  exceptions = 0;
  lastException = '';
  lastExceptionAt = 0;
  lastInvocation = 0;
  isFull = false;
  /** Time since which the sink is full, epoch ms. */
  fullSince = 0;
  /** Times from taking output to passing it on; null unless they are measured. */
  readonly latencies: Histogram | null;
  readonly #bytes: SinkBytes;
  /** Takes the messages that can't go out. */
  deadLetters: DeadLetters | undefined;
  #strikes = 0;
  #bytesOutAtLoss = -1;
  /** The first attempt to connect is over. */
  isTried = false;
  #isClosed = false;
  /** Messages that an earlier run left in the queue. */
  #messagesBefore = 0;
  /** Receiver of the messages: the chain where there is one, otherwise the connector. */
  readonly #sink: Sink;
  readonly #part: SinkPart;
  /** The stages before the connector. */
  readonly #chain: OutputChain | undefined;
  #patience: NodeJS.Timeout | undefined;
  readonly #messages: SinkMessages;
  /** Output whose messages another thread makes; undefined where none does. */
  readonly #late: LateMessages | undefined;
  #ending: AbortController | undefined;
  readonly dynamic: ReadonlySet<string>;
  readonly hasHeaders: boolean;

  constructor(
    public spec: SinkSpec,
    connector: Connector,
    readonly host: SinkHost,
    readonly limitBytes: number,
    readonly sendError = false,
    /** Plan of the output that the kernel writes for the sink; a sink of dead letters has its own. */
    given?: OutputPlan,
    /** See `SinkContext`. */
    readonly transactionName?: string,
  ) {
    const { sink } = connector;
    if (sink === undefined) throw new Error(`${connector.name} is no sink`);
    this.#part = sink;
    this.#mask = redactOf(spec.secrets);
    this.#bytes = new SinkBytes(
      host.shared('sinks.memory', () => new SinkMemory()),
      limitBytes,
      this,
    );
    this.latencies = this.measuresAll ? emptyHistogram() : null;
    const templates = dynamicProps(spec.type, spec.props);
    const names = Object.keys(templates);
    this.dynamic = names.length === 0 ? none : new Set(names);
    const output = spec.getsLetters === true ? letterParts().letterOutput(this.letterForm) : given;
    const { hasHeaders = false } = sink.form(spec.props);
    this.hasHeaders = hasHeaders;
    this.#messages = sinkMessages(spec, sink, { templates, output, sendError, label: this.label }, host, this);
    this.#late = this.#messages.isLate ? lateMessages(this.#messages, this, () => this.bytesLeft()) : undefined;
    this.connection = new Connection(this);
    const make = (context: SinkContext) => sink.create(spec.props, context);
    this.#chain = outputChain(spec, this, make);
    this.#sink = this.#chain ?? make(this);
  }

  /** Masks the secrets of its properties, as they are at the time. */
  get redact(): Redact {
    return (text) => this.#mask(text);
  }

  get letterForm(): LetterSink['letterForm'] {
    const { takes, framing } = this.#part.form(this.spec.props);
    return { takes, framing, hasTemplates: this.dynamic.size > 0 };
  }

  get ending(): AbortSignal {
    this.#ending ??= new AbortController();
    if (this.#isClosed) this.#ending.abort();
    return this.#ending.signal;
  }

  /** The queue that messages go through now. */
  get #queue(): RetryQueue | undefined {
    return this.#chain?.current;
  }

  get cache(): RunningCache | undefined {
    return this.#chain?.used;
  }

  async connect(): Promise<void> {
    await this.#sink.open();
    this.host.debug(() => `${this.label} is open`);
  }

  /** Has other properties from the next attempt to connect on, unless more differs than may. */
  renew({ props, secrets }: SinkSpec): void {
    const conf = this.#part.renewed(this.spec.props, props);
    if (conf === undefined) return;
    this.spec = { ...this.spec, props, ...(secrets === undefined ? {} : { secrets }) };
    this.#mask = redactOf(secrets);
    this.#sink.renew?.(conf);
    this.connection.hurry(0);
  }

  givenUp(reason: string): void {
    this.exception(reason);
    this.host.sinkFailed(reason);
  }

  attemptFailed(reason: string): void {
    this.exception(reason);
  }

  tried(): void {
    if (this.isTried) return;
    this.isTried = true;
    this.host.tried?.();
  }

  exception(reason: string): void {
    this.exceptions++;
    this.#note(reason);
  }

  #note(reason: string): void {
    this.lastException = this.redact(reason);
    this.host.debug(() => `${this.label}: ${this.lastException}`);
    this.lastExceptionAt = Date.now();
  }

  start(): void {
    this.connection.start();
  }

  get waitingBytes(): number {
    return this.#bytes.waiting + (this.#late?.bytes ?? 0);
  }

  get waitingMessages(): number {
    return this.#messagesBefore + this.messagesIn - this.messagesOut - this.messagesFailed;
  }

  get unsafeMessages(): number {
    const { unsafe } = this.#queue ?? {};
    return unsafe === undefined ? this.waitingMessages : unsafe + (this.#late?.messages ?? 0);
  }

  get measuresAll(): boolean {
    return this.host.measuresAll === true;
  }

  /** Takes output of the kernel; called while it runs. */
  write(chunk: OutputChunk, now: number): void {
    if (this.#chain?.retry !== undefined && this.connection.status !== 1 && this.isTried) this.#beginQueue();
    this.rowsIn += chunk.rows;
    this.lastInvocation = now;
    const messages = this.#messages.count(chunk);
    this.messagesIn += messages;
    if (this.#late === undefined) this.#messages.make(chunk);
    else this.#late.add(chunk, messages);
    this.highWater = Math.max(this.highWater, this.waitingMessages);
    if (this.isFull || this.#pressure <= this.#bytes.limit) return;
    if (this.connection.status !== 1) this.#beginQueue();
    if (this.#pressure <= this.#bytes.limit) return;
    this.isFull = true;
    this.fullSince = now;
    this.host.sinkIsFull(true);
    this.#awaitQueue();
  }

  /** Waiting bytes that count against the bound. */
  get #pressure(): number {
    return this.waitingBytes - (this.#queue?.beforeBytes ?? 0);
  }

  /**
   * Waits before the retry queue begins, since a connected sink may be full for a moment. A sink that also empties is
   * just slow: sources without other rules wait for it.
   */
  #awaitQueue(): void {
    const isShared = this.#chain?.retry?.isShared;
    if (isShared === undefined || this.#queue !== undefined) return;
    const look = () => {
      this.#patience = undefined;
      if (!this.isFull || this.#isClosed) return;
      if (isShared || Date.now() - this.fullSince >= patienceMs) this.#beginQueue();
      else this.#awaitQueue();
    };
    this.#patience ??= setTimeout(look, isShared ? sharedPatienceMs : patienceMs).unref();
  }

  /** Lets output that the sink can't take wait on disk from now on. */
  #beginQueue(): void {
    const chain = this.#chain;
    if (chain?.retry === undefined || chain.current !== undefined || this.#isClosed) return;
    const bytes = this.#bytes.waiting - this.#bytes.held;
    const messages = this.waitingMessages - (this.#late?.messages ?? 0);
    chain.begin({ messages, bytes }, this.connection.status !== 1);
    this.bytesLeft();
  }

  /** To be called when a source of the rule has had messages that are to be acknowledged. */
  acknowledged(): void {
    if (this.#chain?.retry?.awaits === 'source') this.#beginQueue();
  }

  get isAcknowledged(): boolean {
    return this.host.isAcknowledged === true;
  }

  made(sent: OutputChunk, of: OutputChunk, values?: Readonly<Record<string, unknown>>): void {
    // Messages that could not be encoded go no further; those of a batch may each be sent as an error.
    if (sent.messages > of.messages) this.messagesIn += sent.messages - of.messages;
    else this.messagesFailed += of.messages - sent.messages;
    if (sent.messages === 0 && sent !== of) return;
    this.#bytes.add(sent.bytes.length);
    if (this.latencies !== null) this.#bytes.marks.measure(this.latencies, this.#bytes.came);
    this.#sink.write(values === undefined ? sent : { ...sent, values });
  }

  unrendered(lost: OutputChunk, reason: string): void {
    this.#bytes.add(lost.bytes.length);
    cutter.cut(lost, (message) => this.refused(message, message.length, 1, reason));
  }

  /** One that is lost counts as an exception by itself. */
  unmade(reason: string, message: Uint8Array): void {
    if (this.sendError) this.exception(reason);
    else {
      this.#note(reason);
      this.#bytes.add(message.length);
      this.#sendLetter(message, reason, this.#bytes.hold(message.length));
    }
    this.host.messagesLost?.();
  }

  /** Sets the figures of a sink for which rows are only counted. */
  settle(messages: number, lastInvocation: number): void {
    this.messagesIn = messages;
    this.messagesOut = messages;
    this.lastInvocation = lastInvocation;
  }

  /** Holds the barrier until all that waits now has left. */
  hold(barrier: Barrier): void {
    if (this.#late?.hold(barrier)) return;
    if (this.waitingBytes === 0 || !this.#bytes.marks.hold(barrier, this.#bytes.came)) return;
    if (!barrier.goesToLog) this.#queue?.awaited();
  }

  /** Time since which the sink keeps messages of the source unacknowledged, epoch ms; Infinity when it keeps none. */
  blocksSince(source: Acknowledgements): number {
    return Math.min(this.#bytes.blocksSince(source), this.#late?.since(source) ?? Number.POSITIVE_INFINITY);
  }

  /** Gives up all barriers, so that waiting output holds up nobody any more. */
  giveBack(): void {
    this.#late?.giveBack();
    this.#bytes.marks.giveBack();
  }

  /** Sentence for people when the sink blocks other rules. */
  get trouble(): string {
    return troubleOf(this, this.#queue?.trouble ?? '');
  }

  /** Resolves when all output is sent or can't be sent, however long the sink is away meanwhile. */
  async emptied(): Promise<void> {
    await this.#late?.taken();
    const left = new Promise<void>((resolve) => this.whenSafe(resolve));
    // A queue that begins meanwhile has what the sink did not take.
    await (this.#queue?.emptied() ?? this.#sink.flush().catch(() => left));
    await this.#queue?.emptied();
  }

  /**
   * Resolves when all output is sent; rejects when the sink can't send it in time. For a sink without a connection the
   * time runs from the disconnect: one that has not come back yet will hardly do so now.
   */
  async flush(longestMs: number): Promise<void> {
    const { status, lastDisconnectedAt, downSince } = this.connection;
    // Waiting output needs no connection to be written to disk.
    const isAway = status !== 1 && lastDisconnectedAt > 0 && this.#queue?.isDurable !== true;
    const timeoutMs = isAway ? Math.max(lastAttemptMs, longestMs - (Date.now() - downSince)) : longestMs;
    const flushing = this.#late?.taken().then(() => this.#sink.flush()) ?? this.#sink.flush();
    await inTime(flushing, timeoutMs, () => {
      throw new Error(`${this.label} did not finish in ${timeoutMs} ms`);
    });
  }

  /** Resolves when all output has a place that a position can name; undefined when it has. */
  whenMade(): Promise<void> | undefined {
    const isLate = (this.#late?.messages ?? 0) > 0 && this.position() !== undefined;
    return isLate ? this.#late?.taken() : undefined;
  }

  position(): unknown {
    // Dead letters follow the answers of another system: they are not made again from a checkpoint.
    return this.spec.getsLetters === true ? undefined : this.#sink.position?.();
  }

  cutBack(position: unknown): void {
    this.#sink.cutBack?.(position);
  }

  sync(): Promise<void> | undefined {
    return this.#sink.sync?.();
  }

  commit(position: unknown): void {
    this.#sink.commit?.(position);
  }

  /**
   * Closes the sink within the time given, since the other side may not answer. Returns a sentence on the lost
   * messages.
   */
  async close(timeoutMs: number): Promise<string | undefined> {
    if (this.#isClosed) return undefined;
    this.#isClosed = true;
    this.#late?.close();
    this.#ending?.abort();
    clearTimeout(this.#patience);
    this.connection.stop();
    const closing = this.#sink.close().catch((error: unknown) => this.log.warn(`closing failed: ${reasonOf(error)}`));
    await inTime(closing, timeoutMs, () => {});
    // Waiting output is lost with the sink, except for messages that its cache keeps.
    const isCleaned = this.spec.cache?.isCleanedAtStop === true;
    const lost = isCleaned ? this.waitingMessages : this.unsafeMessages;
    const size = this.#queue === undefined ? ` (${sizeText(this.waitingBytes)})` : '';
    const fate = isCleaned ? 'they are forgotten (cleanCacheAtStop)' : 'they are lost';
    const loss = lost > 0 ? lossOf(this, lost, size, fate) : undefined;
    if (loss !== undefined) this.log.warn(loss);
    this.messagesFailed += lost;
    this.#bytes.close();
    return loss;
  }

  // Methods for the connector

  get ruleId(): string {
    return this.host.id;
  }

  get peer(): string | undefined {
    return this.#sink.peer;
  }

  get reconnects(): Reconnects | undefined {
    return this.host.reconnects;
  }

  get label(): string {
    return `sink ${this.spec.type}`;
  }

  get log(): Logger {
    return redactedLog(this.host.log, this.redact);
  }

  get aesKey(): string | undefined {
    return this.spec.aesKey;
  }

  get program(): PipedProgram | undefined {
    return this.host.programOf?.(this.spec.program);
  }

  get paths(): AllowedPaths {
    return this.host.paths;
  }

  get isSynced(): boolean {
    return this.host.isSynced === true;
  }

  shared<T>(key: string, make: () => T): T {
    return this.host.shared(key, make);
  }

  taken(messages: number): void {
    this.#messagesBefore += messages;
  }

  accepted(bytes: number, messages: number): void {
    this.messagesOut += messages;
    this.#bytes.out(bytes);
  }

  failed(bytes: number, messages: number, reason: string): void {
    this.#countFailed(messages, reason);
    this.#bytes.out(bytes);
  }

  refused(refused: Uint8Array, bytes: number, messages: number, reason: string): void {
    this.lost(refused, messages, reason, this.#bytes.hold(bytes));
  }

  lost(refused: Uint8Array, messages: number, reason: string, safe: () => void): void {
    this.#countFailed(messages, reason);
    this.#sendLetter(refused, reason, safe);
  }

  #countFailed(messages: number, reason: string): void {
    this.messagesFailed += messages;
    // A lost message counts as an exception by itself.
    if (messages > 0) this.#note(reason);
    else this.exception(reason);
    if (messages > 0) this.host.messagesLost?.();
  }

  #sendLetter(message: Uint8Array, reason: string, safe: () => void): void {
    if (this.deadLetters === undefined || this.#isClosed) safe();
    else this.deadLetters.send(message, this.redact(reason), safe);
  }

  whenSafe(call: () => void): void {
    if (this.#late?.whenTaken(() => this.whenSafe(call))) return;
    if (this.waitingBytes === 0) call();
    else this.#bytes.marks.add({ passed: call }, this.#bytes.came);
  }

  disconnected(given: string, isPatient = false): void {
    if (this.#isClosed) return;
    const reason = this.redact(given);
    this.exception(reason);
    if (!isPatient) {
      this.#strikes = this.#bytes.left === this.#bytesOutAtLoss ? this.#strikes + 1 : 1;
      this.#bytesOutAtLoss = this.#bytes.left;
    }
    if (this.#strikes > maxStrikes && !isPatient) this.host.sinkFailed(reason);
    else this.connection.lost(reason);
  }

  bytesLeft(): void {
    if (!this.isFull || this.#isClosed || this.#pressure > this.#bytes.limit / 2) return;
    this.isFull = false;
    this.host.sinkIsFull(false);
  }
}

const none: ReadonlySet<string> = new Set();
const cutter = new MessageCutter();
