/** A running sink of one rule: counts what waits, stops the sources when it is too much, reopens lost connections. */

import type { OutputChunk } from '../../kernels/api.js';
import { emptyHistogram, type Histogram, noteLatency } from '../../kernels/histogram.js';
import { systemClock, type Timer } from '../base/clock.js';
import type { Logger } from '../base/log.js';
import type { Connector, Sink, SinkContext } from '../connectors/define.js';
import { Connection, type ConnectionOwner } from './connection.js';
import type { SinkSpec } from './protocol.js';
import { type Redact, redactedLog, redactOf } from './secret-props.js';
import { SinkTransform } from './sink-transform.js';

/** A sink that fails so often in a row without getting anything out ends its rule. */
const maxStrikes = 5;

export interface SinkHost {
  readonly id: string;
  readonly log: Logger;
  debug(line: () => string): void;
  /** Times are measured for histograms. */
  readonly measuresAll?: boolean;
  shared<T>(key: string, make: () => T): T;
  /** The sink takes no more, or does again. */
  sinkIsFull(isFull: boolean): void;
  /** The sink can't work. */
  sinkFailed(reason: string): void;
}

export class SinkRun implements SinkContext, ConnectionOwner {
  readonly connection: Connection;
  /** Masks the secrets of its properties. */
  readonly redact: Redact;
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
  /** Times from taking output to having passed it on; null unless they are measured. */
  readonly latencies: Histogram | null;
  #bytesIn = 0;
  #bytesOut = 0;
  #strikes = 0;
  #bytesOutAtLoss = -1;
  #isClosed = false;
  #marks: { at: number; call: () => void }[] = [];
  readonly #sink: Sink;
  readonly #transform: SinkTransform | undefined;

  constructor(
    readonly spec: SinkSpec,
    connector: Connector,
    readonly host: SinkHost,
    readonly limitBytes: number,
    sendError = false,
  ) {
    const { sink } = connector;
    if (sink === undefined) throw new Error(`${connector.name} is no sink`);
    this.redact = redactOf(spec.secrets);
    this.latencies = host.measuresAll === true ? emptyHistogram() : null;
    this.#transform = SinkTransform.of(spec, sendError);
    this.#sink = sink.create(spec.props, this);
    this.connection = new Connection(this, this.redact);
  }

  async connect(): Promise<void> {
    await this.#sink.open();
    this.host.debug(() => `${this.label} is open`);
  }

  refused(reason: string): void {
    this.exception(reason);
    this.host.sinkFailed(reason);
  }

  attemptFailed(reason: string): void {
    this.exception(reason);
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
    return this.#bytesIn - this.#bytesOut;
  }

  get waitingMessages(): number {
    return this.messagesIn - this.messagesOut - this.messagesFailed;
  }

  /** Takes output of the kernel; called while it runs. */
  write(chunk: OutputChunk, now: number): void {
    this.messagesIn += chunk.messages;
    this.rowsIn += chunk.rows;
    this.lastInvocation = now;
    const sent = this.#transform?.apply(chunk, (reason) => this.#unrendered(reason)) ?? chunk;
    // What could not be rendered goes no further.
    this.messagesFailed += chunk.messages - sent.messages;
    if (sent.messages === 0 && this.#transform !== undefined) return;
    this.#bytesIn += sent.bytes.length;
    this.#measure();
    this.#sink.write(sent);
    const waiting = this.waitingMessages;
    if (waiting > this.highWater) this.highWater = waiting;
    if (!this.isFull && this.waitingBytes > this.limitBytes) {
      this.isFull = true;
      this.host.sinkIsFull(true);
    }
  }

  #measure(): void {
    const { latencies } = this;
    if (latencies === null) return;
    const began = performance.now();
    this.whenPassedOn(() => noteLatency(latencies, (performance.now() - began) * 1000));
  }

  /** A message that is lost counts as an exception by itself. */
  #unrendered(reason: string): void {
    if (this.#transform?.sendError) this.exception(reason);
    else this.#note(reason);
  }

  /** Sets the figures of a sink for which rows are only counted. */
  settle(messages: number, lastInvocation: number): void {
    this.messagesIn = messages;
    this.messagesOut = messages;
    this.lastInvocation = lastInvocation;
  }

  /** Calls back when all that waits now has left. */
  whenPassedOn(call: () => void): void {
    this.#marks.push({ at: this.#bytesIn, call });
  }

  /** Resolves when everything is out; rejects when the sink can't get it out in time. */
  async flush(timeoutMs: number): Promise<void> {
    let timer: Timer | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      const refuse = () => reject(new Error(`sink ${this.spec.type} did not finish in ${timeoutMs} ms`));
      timer = systemClock.after(timeoutMs, refuse);
    });
    try {
      await Promise.race([this.#sink.flush(), late]);
    } finally {
      timer?.close();
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.connection.stop();
    await this.#sink.close();
    // Whatever is left is lost with the sink.
    this.messagesFailed = this.messagesIn - this.messagesOut;
  }

  // What the connector calls

  get ruleId(): string {
    return this.host.id;
  }

  get label(): string {
    return `sink ${this.spec.type}`;
  }

  get log(): Logger {
    return redactedLog(this.host.log, this.redact);
  }

  shared<T>(key: string, make: () => T): T {
    return this.host.shared(key, make);
  }

  accepted(bytes: number, messages: number): void {
    this.messagesOut += messages;
    this.#credit(bytes);
  }

  failed(bytes: number, messages: number, reason: string): void {
    this.messagesFailed += messages;
    // A message that is lost counts as an exception by itself.
    if (messages > 0) this.#note(reason);
    else this.exception(reason);
    this.#credit(bytes);
  }

  disconnected(given: string): void {
    if (this.#isClosed) return;
    const reason = this.redact(given);
    this.exception(reason);
    this.#strikes = this.#bytesOut === this.#bytesOutAtLoss ? this.#strikes + 1 : 1;
    this.#bytesOutAtLoss = this.#bytesOut;
    if (this.#strikes > maxStrikes) this.host.sinkFailed(reason);
    else this.connection.lost(reason);
  }

  #credit(bytes: number): void {
    this.#bytesOut += bytes;
    while (this.#marks.length > 0 && this.#marks[0]!.at <= this.#bytesOut) this.#marks.shift()!.call();
    if (this.isFull && !this.#isClosed && this.waitingBytes <= this.limitBytes / 2) {
      this.isFull = false;
      this.host.sinkIsFull(false);
    }
  }
}
