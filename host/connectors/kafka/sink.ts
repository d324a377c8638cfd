/**
 * Writes messages to topics. Those of a partition arrive in order; what no broker has acknowledged when a connection
 * breaks is sent again on the next one, so that a broker may get it twice.
 */
import { headersOf, noHeaders } from '../../clients/kafka/batch-builder.js';
import type { KafkaConf } from '../../clients/kafka/connection.js';
import { KafkaPool, type SharedKafka } from '../../clients/kafka/pool.js';
import { Producer } from '../../clients/kafka/producer.js';
import { MessageCutter } from '../frames.js';
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
  compression: '' | 'gzip' | 'snappy' | 'lz4' | 'zstd';
}

/** Where the messages of a chunk go. */
interface Target {
  readonly topic: string;
  readonly key: Buffer | null;
  readonly headers: Buffer;
}

export class KafkaSink implements Sink {
  readonly peer: string;
  readonly #cutter = new MessageCutter();
  readonly #target: Target;
  #shared: SharedKafka | undefined;
  #producer: Producer | undefined;
  /** What came before the first connection, and who waits for it. */
  #early: SinkChunk[] = [];
  #onFirst: (() => void)[] = [];
  #isClosed = false;

  constructor(
    readonly conf: KafkaSinkConf,
    readonly context: SinkContext,
  ) {
    this.peer = `kafka ${conf.brokers}`;
    this.#target = targetOf(conf);
  }

  async open(): Promise<void> {
    if (this.#shared === undefined) {
      const tls = await tlsOf(this.conf, this.context.paths);
      if (this.#isClosed) return;
      this.#shared = this.context.shared('kafka.clients', () => new KafkaPool()).take(this.conf, tls);
    }
    await this.#shared.client.connect();
    if (this.#isClosed) return;
    this.#producer ??= this.#makeProducer(this.#shared);
    this.#producer.open();
    for (const chunk of this.#early.splice(0)) this.write(chunk);
    for (const call of this.#onFirst.splice(0)) call();
  }

  write(chunk: SinkChunk): void {
    const producer = this.#producer;
    if (producer === undefined) {
      this.#early.push({ ...chunk, bytes: Buffer.from(chunk.bytes), ends: chunk.ends?.slice() ?? null });
      return;
    }
    const { values } = chunk;
    const target = values === undefined ? this.#target : targetOf({ ...this.conf, ...values });
    const { topic, key, headers } = target;
    let left = chunk.bytes.length;
    this.#cutter.cut(chunk, (value) => {
      left -= value.length;
      producer.add(topic, { key, headers, value }, value.length);
    });
    if (left > 0) this.context.accepted(left, 0);
  }

  async flush(): Promise<void> {
    if (this.#early.length > 0) await new Promise<void>((resolve) => this.#onFirst.push(resolve));
    await this.#producer?.flush();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#producer?.close();
    this.#shared?.giveBack();
  }

  #makeProducer({ client }: SharedKafka): Producer {
    const { context, conf } = this;
    return new Producer(
      client,
      { ...conf, codec: conf.compression === '' ? 'none' : conf.compression },
      {
        accepted: (bytes, messages) => context.accepted(bytes, messages),
        failed: (bytes, messages, reason) => context.failed(bytes, messages, reason),
        lost: (reason) => context.disconnected(reason, true),
      },
    );
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
