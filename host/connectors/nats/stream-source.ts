/**
 * Reads a stream of JetStream. With a durable consumer the server keeps what is not acknowledged, and messages are
 * acknowledged as soon as they are safe. Without one the source has a consumer of its own on each connection, which
 * begins behind the last message that was written: its position is a number in the stream.
 */
import { type JetStreamManager, jetstreamManager } from '@nats-io/jetstream';
import type { Msg } from '@nats-io/transport-node';
import { closeNats, connectNats, type NatsConnection, natsReason } from '../../clients/nats/client.js';
import type { Source, SourceContext } from '../running.js';
import { natsErrors } from './errors.js';
import { Pulls } from './pulls.js';
import { type NatsConnectionConf, natsPeer, natsSecurity } from './settings.js';
import { askedAgain, withTimeout } from './timeout.js';

export interface NatsStreamConf extends NatsConnectionConf {
  stream: string;
  bucket: string;
  durable: string;
  deliverPolicy: string;
  startSequence: number;
  startTime: string;
  ackWait: number;
  maxAckPending: number;
}

/** A connection with what reads the stream on it. */
export interface Reading {
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
  pulls: Pulls | undefined;
}

/** Asks as often as it takes until there is an answer, within the time for opening the source. */
export type Look = <T>(ask: (manager: JetStreamManager) => Promise<T>) => Promise<T>;

/** The two kinds of consumers differ in these. */
export interface ConsumerKind {
  /** Makes the consumer, or finds it; returns its name. What changes nothing is to be asked by `look`. */
  begin(manager: JetStreamManager, look: Look): Promise<string>;
  /** The consumer is needed no longer. */
  end?(manager: JetStreamManager): Promise<void>;
  take(message: Msg): void;
  /** The sinks take more. */
  readonly isWanted: boolean;
  opened?(connection: NatsConnection): void;
  close(): void;
}

export class StreamReader implements Source {
  #reading: Reading | undefined;
  #isClosed = false;

  constructor(
    public conf: NatsStreamConf,
    readonly context: SourceContext,
    readonly kind: ConsumerKind,
  ) {
    context.onFlow(
      () => {},
      () => this.ask(),
    );
  }

  get peer(): string {
    return natsPeer(this.conf);
  }

  async open(): Promise<void> {
    const { conf, context } = this;
    let made: NatsConnection | undefined;
    const security = await natsSecurity(conf, context.paths);
    made = await connectNats(conf, security, (reason) => made && this.lost(made, reason));
    try {
      const { timeout } = conf;
      const manager = await jetstreamManager(made, { timeout, checkAPI: false });
      const reading = { connection: made, manager, pulls: undefined };
      await this.#begin(reading);
      if (this.#isClosed) await closeNats(made);
      else this.#reading = reading;
      this.ask();
    } catch (error) {
      void closeNats(made);
      throw errorOf(error);
    }
  }

  async #begin(reading: Reading): Promise<void> {
    const { connection, manager } = reading;
    const { timeout } = this.conf;
    const end = performance.now() + timeout;
    const isOver = () => performance.now() >= end || connection.isClosed();
    const quick = await jetstreamManager(connection, { timeout: Math.min(timeout, lookMs), checkAPI: false });
    const look: Look = (ask) => askedAgain(() => ask(quick), isOver);
    const consumer = await withTimeout(this.kind.begin(manager, look), timeout);
    if (this.#isClosed) return;
    this.kind.opened?.(connection);
    const source = this;
    reading.pulls = new Pulls(connection, {
      stream: streamOf(this.conf),
      consumer,
      take: (message) => this.kind.take(message),
      get isWanted() {
        return source.#reading === reading && !source.context.isFull && source.kind.isWanted;
      },
      failed: (reason) => this.lost(connection, reason),
    });
  }

  /** Asks for messages where the sinks take more. */
  ask(): void {
    this.#reading?.pulls?.ask();
  }

  /** Begins anew on the same connection, with another consumer. */
  restart(): void {
    const reading = this.#reading;
    if (reading === undefined) return;
    reading.pulls?.close();
    this.#begin(reading).then(
      () => this.ask(),
      (error) => this.lost(reading.connection, natsReason(error)),
    );
  }

  renew(conf: NatsStreamConf): void {
    this.conf = conf;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.kind.close();
    const reading = this.#reading;
    this.#reading = undefined;
    if (reading === undefined) return;
    reading.pulls?.close();
    const ended = this.kind.end?.(reading.manager);
    if (ended !== undefined) await withTimeout(ended, closeMs).catch(() => {});
    await closeNats(reading.connection);
  }

  lost(connection: NatsConnection, reason: string): void {
    const reading = this.#reading;
    if (reading?.connection !== connection) return;
    this.#reading = undefined;
    reading.pulls?.close();
    void closeNats(connection);
    this.context.disconnected(reason);
  }
}

/** Time for the answer to a question that can be asked again, ms. */
const lookMs = 1000;
/** Longest wait for a consumer to go, ms. */
const closeMs = 500;

/** Name of the stream. */
export function streamOf({ stream, bucket }: Pick<NatsStreamConf, 'stream' | 'bucket'>): string {
  return bucket === '' ? stream : `KV_${bucket}`;
}

/** Errors of the connector stay as they are. */
function errorOf(error: unknown): unknown {
  return error instanceof Error && 'kind' in error ? error : natsErrors.connection(natsReason(error), { cause: error });
}
