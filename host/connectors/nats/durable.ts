/** A durable consumer: the server keeps what is not acknowledged, and several readers may share it. */
import { AckPolicy, type JetStreamManager } from '@nats-io/jetstream';
import type { Msg } from '@nats-io/transport-node';
import type { NatsConnection } from '../../clients/nats/client.js';
import { Deliveries } from '../messages/deliveries.js';
import { partitionIn } from '../partitions.js';
import type { SourceContext } from '../running.js';
import { consumerStart } from './consumer-conf.js';
import { deliveredIn } from './delivered.js';
import { natsErrors } from './errors.js';
import { frameOf, metasOf } from './message-frame.js';
import { type ConsumerKind, type Look, type NatsStreamConf, StreamReader, streamOf } from './stream-source.js';

/** What acknowledges a message. */
interface Given {
  readonly sequence: number;
  /** Subject for the acknowledgement; that of the latest delivery. */
  reply: string;
}

/** Bytes of messages that wait for the sinks. */
const mostUnwritten = 32 << 20;
const nanosPerMs = 1_000_000;
/** Acknowledged messages that are remembered, since their acknowledgement may not have arrived. */
const mostRemembered = 10_000;

export class DurableSource extends StreamReader {
  constructor(conf: NatsStreamConf, context: SourceContext) {
    super(conf, context, new DurableConsumer(conf, context));
  }
}

class DurableConsumer implements ConsumerKind {
  readonly #deliveries: Deliveries<Given>;
  readonly #metas;
  #connection: NatsConnection | undefined;
  /** Messages that are not acknowledged, by number. */
  readonly #held = new Map<number, Given>();
  /** Numbers of messages acknowledged last, in order. */
  readonly #over = new Set<number>();
  /** Acknowledgements that no connection has taken. */
  #unsent: string[] = [];
  #created = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly conf: NatsStreamConf,
    private readonly context: SourceContext,
  ) {
    this.#metas = metasOf(conf);
    this.#deliveries = new Deliveries(context, (given) => this.#acknowledge(given));
  }

  /** The server sends no more than may be unacknowledged, but these may be large. */
  get isWanted(): boolean {
    return this.#deliveries.unwrittenBytes < mostUnwritten;
  }

  async begin(manager: JetStreamManager, look: Look): Promise<string> {
    const { conf, context } = this;
    const stream = streamOf(conf);
    const { created } = await look(({ streams }) => streams.info(stream));
    const partition = partitionIn(context.dataSource);
    const name = partition === undefined ? conf.durable : `${conf.durable}-${partition}`;
    if (this.#created !== String(created)) {
      this.#over.clear();
      this.#created = String(created);
    }
    const found = await look(({ consumers }) => consumers.info(stream, name)).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
    const info =
      found ??
      (await manager.consumers.add(stream, {
        durable_name: name,
        ack_policy: AckPolicy.Explicit,
        ack_wait: conf.ackWait * nanosPerMs,
        max_ack_pending: conf.maxAckPending,
        ...consumerStart(conf, context.dataSource),
      }));
    const { ack_policy: policy, ack_wait: waitNanos } = info.config;
    if (policy !== AckPolicy.Explicit) throw natsErrors.consumer(name, String(policy));
    clearInterval(this.#timer);
    const waitMs = (waitNanos ?? conf.ackWait * nanosPerMs) / nanosPerMs;
    this.#timer = setInterval(() => this.#keep(), Math.max(100, waitMs / 2)).unref();
    return name;
  }

  opened(connection: NatsConnection): void {
    this.#connection = connection;
    for (const reply of this.#unsent.splice(0)) connection.publish(reply, acknowledged);
  }

  /** Messages that are not safe come again at once, to whoever reads next. */
  close(): void {
    for (const { reply } of this.#held.values()) this.#publish(reply, refused);
    clearInterval(this.#timer);
    this.#deliveries.close();
  }

  take(message: Msg): void {
    const reply = message.reply ?? '';
    const delivered = deliveredIn(reply);
    const { sequence, count } = delivered;
    if (count > 1) {
      const held = this.#held.get(sequence);
      // The message is at work, or only its acknowledgement was lost.
      if (held !== undefined) {
        held.reply = reply;
        return;
      }
      if (this.#over.has(sequence)) {
        this.#publish(reply, acknowledged);
        return;
      }
    }
    const { payload, meta } = frameOf(message, delivered, this.#metas);
    const given = { sequence, reply };
    this.#held.set(sequence, given);
    this.#deliveries.add(payload, meta, given);
  }

  #acknowledge(given: readonly Given[]): void {
    for (const { sequence, reply } of given) {
      this.#held.delete(sequence);
      this.#over.add(sequence);
      this.#publish(reply, acknowledged);
    }
    for (const oldest of this.#over) {
      if (this.#over.size <= mostRemembered) break;
      this.#over.delete(oldest);
    }
  }

  #publish(reply: string, text: Uint8Array): void {
    const connection = this.#connection;
    if (connection !== undefined && !connection.isClosed()) connection.publish(reply, text);
    else if (text === acknowledged) this.#unsent.push(reply);
  }

  /** Tells the server that messages which are not safe yet are at work, before it sends them again. */
  #keep(): void {
    for (const { reply } of this.#held.values()) this.#publish(reply, atWork);
  }
}

const acknowledged = Buffer.from('+ACK');
const refused = Buffer.from('-NAK');
const atWork = Buffer.from('+WPI');

function isNotFound(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 10_014;
}
