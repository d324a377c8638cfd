/**
 * Subscribes to subjects. A server can't be told to wait: while the sinks take no more, messages are kept up to a
 * bound, and what comes beyond it is dropped and counted.
 */
import type { Msg } from '@nats-io/transport-node';
import { reasonOf } from '../../base/errors.js';
import { closeNats, connectNats, type NatsConnection } from '../../clients/nats/client.js';
import { Drops } from '../drops.js';
import { FrameBuffer } from '../messages/frames.js';
import { expanded, givenSubjects, rangeReason } from '../partitions.js';
import type { Source, SourceContext } from '../running.js';
import { natsErrors } from './errors.js';
import { Metas } from './metas.js';
import { type NatsConnectionConf, natsPeer, natsSecurity } from './settings.js';
import { whileOpen } from './timeout.js';

export interface NatsSourceConf extends NatsConnectionConf {
  queue: string;
}

/** Messages that wait for the sinks, bytes. */
const mostWaiting = 32 << 20;

export class NatsSource implements Source {
  #connection: NatsConnection | undefined;
  #isClosed = false;
  readonly #subjects: readonly string[];
  readonly #frames = new FrameBuffer();
  readonly #metas = new Metas();
  #isScheduled = false;
  readonly #drops: Drops;

  constructor(
    public conf: NatsSourceConf,
    readonly context: SourceContext,
  ) {
    this.#drops = new Drops(context);
    this.#subjects = subjectsOf(context.dataSource);
  }

  get peer(): string {
    return natsPeer(this.conf);
  }

  async open(): Promise<void> {
    if (this.#subjects.length === 0) throw natsErrors.noSubject();
    const { conf, context } = this;
    let made: NatsConnection | undefined;
    made = await connectNats(
      conf,
      await natsSecurity(conf, context.paths),
      (reason) => made && this.#lost(made, reason),
    );
    try {
      const refusals: string[] = [];
      const queue = conf.queue === '' ? {} : { queue: conf.queue };
      const callback = (error: Error | null, message: Msg) => {
        if (error === null) this.#take(message);
        else this.#refused(made!, refusals, reasonOf(error));
      };
      for (const subject of this.#subjects) made.subscribe(subject, { ...queue, callback });
      // What the server says to the subscriptions comes before its answer.
      await whileOpen(made, made.flush(), conf.timeout);
      if (refusals[0] !== undefined) throw natsErrors.connection(refusals[0]);
    } catch (error) {
      void closeNats(made);
      throw error;
    }
    if (this.#isClosed) await closeNats(made);
    else this.#connection = made;
  }

  renew(conf: NatsSourceConf): void {
    this.conf = conf;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#drops.tell();
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection !== undefined) await closeNats(connection);
  }

  #refused(connection: NatsConnection, refusals: string[], reason: string): void {
    refusals.push(reason);
    this.#lost(connection, reason);
  }

  #lost(connection: NatsConnection, reason: string): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    void closeNats(connection);
    this.context.disconnected(reason);
  }

  #take(message: Msg): void {
    const { data } = message;
    if (this.#frames.sizeBytes > mostWaiting) {
      if (this.context.isFull) {
        this.#drops.add();
        return;
      }
      this.#pass();
    }
    this.#frames.add(data, this.#metas.of(message.subject, message.reply ?? '', message.headers));
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => void this.#write());
  }

  async #write(): Promise<void> {
    if (this.context.isFull) await this.context.ready();
    this.#isScheduled = false;
    if (this.#isClosed) return;
    this.#pass();
  }

  #pass(): void {
    if (this.#frames.count > 0) this.context.write(this.#frames.bytes);
    this.#frames.clear();
  }
}

/** The subjects of a DATASOURCE; throws a `config` error for a range of partitions that is none. */
export function subjectsOf(dataSource: string): string[] {
  const reason = rangeReason(dataSource);
  if (reason !== undefined) throw natsErrors.partitions(reason);
  return givenSubjects(dataSource).flatMap(expanded);
}
