/**
 * A client of a Kafka cluster: knows who leads which partition, and asks brokers. Nothing is tried again here but what
 * the cluster says is not ready yet. The library is read with this file.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Base, type Connection, ConnectionPool, kGetApi, type Reader, Writer } from '@platformatic/kafka';
import { HaumeaError, reasonOf } from '../../base/errors.js';

import { ByteReader } from './bytes.js';
import { type Address, brokersOf, type KafkaConf, type KafkaTls } from './connection.js';
import { kafkaErrors } from './errors.js';
import { codeOf, codes, isTransient, kafkaReason } from './reasons.js';

const clientId = 'haumea';
const connectTimeoutMs = 10_000;
const requestTimeoutMs = 30_000;
/** Requests that may be under way on one connection. */
const maxInflights = 100;
/** Attempts while the cluster is not ready, or makes a topic, and the pause between two of them. */
const attempts = 20;
const pauseMs = 150;

export interface Topic {
  /** Node that leads each partition; -1 while there is none. */
  readonly leaders: readonly number[];
}

/** A request whose form is our own. */
export interface OwnRequest {
  readonly key: number;
  readonly version: number;
  readonly body: Buffer;
  /** The broker answers; otherwise the call resolves with nothing when the request is out. */
  readonly isAnswered: boolean;
}

// biome-ignore lint/suspicious/noExplicitAny: the arguments and answers of the library's calls differ by name
type LibraryApi = (connection: Connection, ...args: any[]) => void;
type Done<T> = (error?: Error | null, value?: T) => void;

export class KafkaClient {
  readonly #base: Base;
  readonly #options: ConstructorParameters<typeof ConnectionPool>[1];
  readonly #brokers = new Map<number, Address>();
  readonly #topics = new Map<string, Topic>();
  readonly #finding = new Map<string, Promise<Topic>>();
  readonly #pools = new Set<ConnectionPool>();
  readonly #bootstrap: readonly Address[];
  readonly #main: ConnectionPool;
  #isClosed = false;

  constructor(conf: KafkaConf, tls: KafkaTls) {
    this.#bootstrap = brokersOf(conf.brokers);
    this.#options = {
      connectTimeout: connectTimeoutMs,
      requestTimeout: requestTimeoutMs,
      maxInflights,
      ...login(conf, tls),
    };
    this.#base = new Base({
      clientId,
      bootstrapBrokers: [...this.#bootstrap],
      retries: 0,
      ...this.#options,
    });
    watchPool(this.#base.connections);
    this.#main = this.newPool();
  }

  /** Connections of their own: a request that waits at the broker holds up those behind it. */
  newPool(): ConnectionPool {
    const pool = new ConnectionPool(clientId, this.#options);
    watchPool(pool);
    this.#pools.add(pool);
    return pool;
  }

  endPool(pool: ConnectionPool): void {
    this.#pools.delete(pool);
    endPool(pool);
  }

  /** Connects to the first broker that is there. */
  async connect(): Promise<void> {
    await this.#connection(undefined, this.#main);
  }

  /** Leaders of the topic, which the broker may create; asks anew after `forget`. Throws when there is no topic. */
  topic(name: string, create: boolean): Promise<Topic> {
    const known = this.#topics.get(name);
    if (known !== undefined) return Promise.resolve(known);
    let finding = this.#finding.get(name);
    if (finding === undefined) {
      finding = this.#find(name, create).finally(() => this.#finding.delete(name));
      this.#finding.set(name, finding);
    }
    return finding;
  }

  known(name: string): Topic | undefined {
    return this.#topics.get(name);
  }

  forget(name: string): void {
    this.#topics.delete(name);
  }

  async #find(name: string, create: boolean): Promise<Topic> {
    for (let attempt = 1; ; attempt++) {
      try {
        const answer = await this.#metadata(name, create);
        this.#topics.set(name, answer);
        return answer;
      } catch (error) {
        const code = codeOf(error);
        // A topic that was just created is known a little later.
        const isSoon = isTransient(code) && (code !== codes.unknownTopic || create);
        if (!isSoon || attempt === attempts) {
          throw code === codes.unknownTopic ? kafkaErrors.noTopic(name, { cause: error }) : error;
        }
        await pause(pauseMs);
      }
    }
  }

  async #metadata(name: string, create: boolean): Promise<Topic> {
    interface Metadata {
      brokers: { nodeId: number; host: string; port: number }[];
      topics: { partitions: { partitionIndex: number; leaderId: number }[] }[];
    }
    const answer = await this.ask<Metadata>(undefined, 'Metadata', [[name], create, false]);
    for (const { nodeId, host, port } of answer.brokers) this.#brokers.set(nodeId, { host, port });
    const leaders: number[] = [];
    for (const { partitionIndex, leaderId } of answer.topics[0]?.partitions ?? []) leaders[partitionIndex] = leaderId;
    return { leaders };
  }

  /** Node that coordinates a group (0) or the transactions of an id (1). */
  async coordinator(kind: 0 | 1, key: string): Promise<number> {
    interface Found {
      coordinators: { nodeId: number; host: string; port: number }[];
    }
    for (let attempt = 1; ; attempt++) {
      try {
        const { coordinators } = await this.ask<Found>(undefined, 'FindCoordinator', [kind, [key]]);
        const { nodeId, host, port } = coordinators[0]!;
        this.#brokers.set(nodeId, { host, port });
        return nodeId;
      } catch (error) {
        await untilReady(error, attempt);
      }
    }
  }

  /** Asks a node, or any without one, by the newest version that it has of one of the library's calls. */
  async ask<T>(node: number | undefined, name: string, args: unknown[], pool = this.#main): Promise<T> {
    const api = await this.#api(name);
    return this.#asked<T>(node, pool, (connection, done) => api(connection, ...args, done));
  }

  /** Asks a node by one call of the library. */
  call<T>(node: number, api: LibraryApi, args: unknown[]): Promise<T> {
    return this.#asked<T>(node, this.#main, (connection, done) => api(connection, ...args, done));
  }

  /** Asks a node by a call of ours. */
  async send(node: number, request: OwnRequest, pool = this.#main): Promise<ByteReader> {
    const body = () => {
      const writer = Writer.create().append(request.body);
      if (!request.isAnswered) writer.context.noResponse = true;
      return writer;
    };
    const read = (_id: number, _key: number, _version: number, reader: Reader) =>
      new ByteReader(reader.buffer.buffer, reader.position);
    return this.#asked<ByteReader>(node, pool, (connection, done) =>
      connection.send(request.key, request.version, body, read, false, false, done),
    );
  }

  async #asked<T>(
    node: number | undefined,
    pool: ConnectionPool,
    call: (connection: Connection, done: Done<T>) => void,
  ): Promise<T> {
    const connection = await this.#connection(node, pool);
    try {
      return await new Promise<T>((resolve, reject) => {
        call(connection, (error, value) =>
          error === null || error === undefined ? resolve(value as T) : reject(error),
        );
      });
    } catch (error) {
      // The library does not read on behind an answer that came too late.
      if (codeOf(error) === undefined) connection.socket?.destroy();
      throw this.#failure(error);
    }
  }

  async #connection(node: number | undefined, pool: ConnectionPool): Promise<Connection> {
    if (this.#isClosed) throw kafkaErrors.closed();
    const address = node === undefined ? undefined : this.#brokers.get(node);
    if (node !== undefined && address === undefined) throw kafkaErrors.connection(`broker ${node} is not known`);
    try {
      if (address !== undefined) return await pool.get(address);
      return await pool.getFirstAvailable([...this.#bootstrap, ...this.#brokers.values()]);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  async #api(name: string): Promise<LibraryApi> {
    try {
      return await new Promise<LibraryApi>((resolve, reject) => {
        this.#base[kGetApi](name, (error, api) => (error ? reject(error) : resolve(api as unknown as LibraryApi)));
      });
    } catch (error) {
      throw this.#failure(error);
    }
  }

  #failure(error: unknown): unknown {
    if (this.#isClosed) return kafkaErrors.closed({ cause: error });
    return error instanceof HaumeaError ? error : kafkaErrors.connection(kafkaReason(error), { cause: error });
  }

  /** Ends all connections at once, whatever waits on them. */
  close(): void {
    this.#isClosed = true;
    for (const pool of this.#pools) endPool(pool);
    endPool(this.#base.connections);
  }
}

/** Waits for the next attempt at what the cluster is not ready for; throws the error when there is to be none. */
export async function untilReady(error: unknown, attempt: number): Promise<void> {
  if (!isTransient(codeOf(error)) || attempt === attempts) throw error;
  await pause(pauseMs);
}

/** A connection that ends during the login tells of it twice; nobody would listen any more, and the thread end. */
function watchPool(pool: ConnectionPool): void {
  pool.on('connecting', ({ connection }) => connection.on('error', () => {}));
}

function endPool(pool: ConnectionPool): void {
  for (const [, connection] of [...pool]) connection.socket?.destroy();
  pool.close(() => {});
}

function login(conf: KafkaConf, tls: KafkaTls) {
  const { saslAuthType, saslUserName: username, password, brokers } = conf;
  const mechanism = saslAuthType === 'plain' ? ('PLAIN' as const) : ('SCRAM-SHA-512' as const);
  // Servers are told names only, no addresses.
  const tlsServerName = brokersOf(brokers).every(({ host }) => /[a-z]/i.test(host) && !host.includes(':'));
  return {
    ...(tls && { tls, tlsServerName }),
    ...(saslAuthType !== 'none' && { sasl: { mechanism, username, password } }),
  };
}

/** Connects once and disconnects; throws the reason when a broker does not answer. */
export async function pingKafka(conf: KafkaConf, tls: KafkaTls): Promise<void> {
  for (const address of conf.brokers.split(',').filter((part) => part.trim() !== '')) {
    const client = new KafkaClient({ ...conf, brokers: address }, tls);
    try {
      await client.connect();
      await client.ask(undefined, 'Metadata', [[], false, false]);
    } catch (error) {
      throw kafkaErrors.connection(`broker ${address.trim()}: ${reasonOf(error)}`, { cause: error });
    } finally {
      client.close();
    }
  }
}
