/**
 * Writes messages to topics. Those of a partition arrive in order; what no broker has acknowledged when a connection
 * breaks is sent again on the next one, so that a broker may get it twice. Where checkpoints count on it, messages are
 * in transactions, and nobody who reads committed messages sees them before their checkpoint.
 */
import { headersOf, noHeaders } from '../../clients/kafka/batch-builder.js';
import type { KafkaConf } from '../../clients/kafka/connection.js';
import { KafkaPool, type SharedKafka } from '../../clients/kafka/pool.js';
import { Producer, type ProducerConf, type ProducerOwner } from '../../clients/kafka/producer.js';
import { Transactions } from '../../clients/kafka/transactions.js';
import { MessageCutter } from '../messages/frames.js';
import type { Sink, SinkChunk, SinkContext } from '../running.js';
import type { TlsConf } from '../tls.js';
import { tlsOf } from './tls.js';

export interface KafkaSinkConf extends KafkaConf, TlsConf {
  topic: string;
  key: string;
  headers: Readonly<Record<string, unknown>>;
  requiredACKs: number;
  maxAttempts: number;
  batchSize: number;
  lingerInterval: number;
  batchBytes: number;
  transactionalIdPrefix: string;
  compression: '' | 'gzip' | 'snappy' | 'lz4' | 'zstd';
}

/** Where the messages of a chunk go. */
interface Target {
  readonly topic: string;
  readonly key: Buffer | null;
  readonly headers: Buffer;
}

/** Place behind a transaction, and how many messages it has. */
interface SinkPosition {
  readonly transaction: number;
  readonly messages: number;
}

/** Time for the last commit when the sink is closed, ms. */
const lastCommitMs = 2000;

export class KafkaSink implements Sink {
  readonly peer: string;
  readonly #cutter = new MessageCutter();
  readonly #target: Target;
  readonly #transactions: Transactions | undefined;
  #shared: SharedKafka | undefined;
  #producer: Producer | undefined;
  /** What came before the first connection, and who waits for it. */
  #early: SinkChunk[] = [];
  #onFirst: (() => void)[] = [];
  #isClosed = false;

  constructor(
    public conf: KafkaSinkConf,
    readonly context: SinkContext,
  ) {
    this.peer = `kafka ${conf.brokers}`;
    this.#target = targetOf(conf);
    const { transactionName: name } = context;
    if (name !== undefined) {
      const gone = (reason: string) => {
        context.log.error(`kafka sink: ${reason}`);
        context.failed(0, 0, reason);
      };
      const id = `${conf.transactionalIdPrefix}-${name}`;
      this.#transactions = new Transactions(id, this.#producerConf, { ...this.#owner, gone });
    }
  }

  renew(conf: KafkaSinkConf): void {
    this.conf = conf;
  }

  async open(): Promise<void> {
    const tls = await tlsOf(this.conf, this.context.paths);
    if (this.#isClosed) return;
    const shared = this.context.shared('kafka.clients', () => new KafkaPool()).take(this.conf, tls);
    this.#shared?.giveBack();
    this.#shared = shared;
    const { client } = shared;
    await client.connect();
    if (this.#isClosed) return;
    if (this.#transactions !== undefined) {
      await this.#transactions.open(client);
      return;
    }
    this.#producer ??= new Producer(client, this.#producerConf, this.#owner);
    this.#producer.open(client);
    for (const chunk of this.#early.splice(0)) this.write(chunk);
    for (const call of this.#onFirst.splice(0)) call();
  }

  write(chunk: SinkChunk): void {
    const to = this.#transactions ?? this.#producer;
    if (to === undefined) {
      this.#early.push({ ...chunk, bytes: Buffer.from(chunk.bytes), ends: chunk.ends?.slice() ?? null });
      return;
    }
    const { values } = chunk;
    const target = values === undefined ? this.#target : targetOf({ ...this.conf, ...values });
    const { topic, key, headers } = target;
    let left = chunk.bytes.length;
    this.#cutter.cut(chunk, (value) => {
      left -= value.length;
      to.add(topic, { key, headers, value }, value.length);
    });
    if (left > 0) this.context.accepted(left, 0);
  }

  async flush(): Promise<void> {
    if (this.#early.length > 0) await new Promise<void>((resolve) => this.#onFirst.push(resolve));
    await (this.#transactions ?? this.#producer)?.flush();
  }

  position(): SinkPosition | undefined {
    return this.#transactions?.cut();
  }

  cutBack(position: unknown): void {
    const { transaction, messages } = position as SinkPosition;
    this.#transactions?.begin({ transaction: Number(transaction), messages: Number(messages) });
  }

  async sync(): Promise<void> {
    await this.#transactions?.prepared();
  }

  commit(position: unknown): void {
    this.#transactions?.commit(Number((position as SinkPosition).transaction));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const closed = this.#transactions?.close();
    // What is not committed by then is at the next start.
    await Promise.race([closed, new Promise<void>((resolve) => setTimeout(resolve, lastCommitMs).unref())]);
    this.#producer?.close();
    this.#shared?.giveBack();
  }

  get #producerConf(): ProducerConf {
    const { conf } = this;
    return { ...conf, codec: conf.compression === '' ? 'none' : conf.compression };
  }

  get #owner(): ProducerOwner {
    const { context } = this;
    return {
      accepted: (bytes, messages) => context.accepted(bytes, messages),
      refused: (message, bytes, messages, reason) => context.refused(message, bytes, messages, reason),
      lost: (reason) => context.disconnected(reason, true),
    };
  }
}

function targetOf({ topic, key, headers }: Pick<KafkaSinkConf, 'topic' | 'key' | 'headers'>): Target {
  const texts = Object.entries(headers).map(([name, value]) => [name, textOf(value)] as const);
  return {
    topic,
    key: key === '' ? null : Buffer.from(key),
    headers: texts.length === 0 ? noHeaders : headersOf(Object.fromEntries(texts)),
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
