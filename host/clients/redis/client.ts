/** Connections to Redis servers: parts with the same settings share one. None connects again by itself. */
import { ErrorReply, RedisClient as Library, type RedisClientOptions } from '@redis/client';
import { reasonOf } from '../../base/errors.js';
import { redisHost } from './address.js';
import type { RedisConf } from './connection.js';
import { redisClientErrors } from './errors.js';

export type RedisCommand = (string | Buffer)[];
export type RedisClient = ReturnType<typeof newClient>;

const connectTimeoutMs = 10_000;
/** Interval of pings on a connection without traffic, ms. */
const pingIntervalMs = 10_000;
/** Silence after which a server is taken for gone, ms. */
const silenceMs = 30_000;

/** Makes clients; the library would make all its commands anew for each whose settings differ from the last one's. */
const protocol = { RESP: 2 } as const;
const makeOne = Library.factory(protocol);

/** A client that does not connect yet, never connects again by itself, and keeps no command for later. */
export function newRedis({
  socket,
  ...login
}: Pick<RedisClientOptions, 'socket' | 'username' | 'password' | 'database'>) {
  return makeOne({
    ...login,
    ...protocol,
    socket: {
      ...socket,
      connectTimeout: connectTimeoutMs,
      socketTimeout: silenceMs,
      reconnectStrategy: false,
    } as never,
    disableOfflineQueue: true,
    // By default each command has an AbortSignal with a timer, ten times the work of the command itself; a server that
    // does not answer is noticed by the silence of its socket.
    commandOptions: { timeout: undefined },
    disableClientInfo: true,
    maintNotifications: 'disabled',
    pingInterval: pingIntervalMs,
  });
}

/** A client with a connection of its own; calls `lost` when the connection is lost. */
export async function makeClient(conf: RedisConf, lost: (reason: string) => void): Promise<RedisClient> {
  return newClient(conf, await conf.security?.read(), lost);
}

function newClient(conf: RedisConf, tls: object | undefined, lost: (reason: string) => void) {
  const { username, password, db, addr } = conf;
  const client = newRedis({
    database: db,
    ...(username === '' ? {} : { username }),
    ...(password === '' ? {} : { password }),
    socket: { ...redisHost(addr), ...(tls && { tls: true as const, ...tls }) },
  });
  // An answer to the ping that is no pong is an answer, too.
  client.on('error', (error: unknown) => {
    if (!isReply(error)) lost(reasonOf(error));
  });
  return client;
}

/** Whether an error is an answer of the server. */
export function isReply(error: unknown): error is ErrorReply {
  return error instanceof ErrorReply;
}

/** Connects once and disconnects; throws the reason when the server does not answer. */
export async function pingRedis(conf: RedisConf): Promise<void> {
  const client = await makeClient(conf, () => {});
  try {
    await client.connect();
    await client.sendCommand(['PING']);
  } catch (error) {
    throw redisClientErrors.connection(reasonOf(error), { cause: error });
  } finally {
    client.destroy();
  }
}

export class RedisPool {
  readonly #clients = new Map<string, SharedRedis>();

  /** Returns the connection with these settings; each user gives it back. */
  take(conf: RedisConf): SharedRedis {
    const key = JSON.stringify([conf.addr, conf.username, conf.password, conf.db, conf.security?.key]);
    let client = this.#clients.get(key);
    if (client === undefined) {
      client = new SharedRedis(conf, () => this.#clients.delete(key));
      this.#clients.set(key, client);
    }
    client.users++;
    return client;
  }
}

export class SharedRedis {
  users = 0;
  /** Client of the present connection. */
  #client: RedisClient | undefined;
  #opening: Promise<void> | undefined;
  readonly #lost = new Map<object, (reason: string) => void>();

  constructor(
    readonly conf: RedisConf,
    readonly onUnused: () => void,
  ) {}

  /** Resolves when connected; calls `lost` when the connection is lost: unanswered commands get no answer then. */
  async open(user: object, lost: (reason: string) => void): Promise<void> {
    if (this.#client === undefined) {
      this.#opening ??= this.#connect().finally(() => {
        this.#opening = undefined;
      });
      await this.#opening;
    }
    this.#lost.set(user, lost);
  }

  /** Sends the command behind all others; rejects with an `ErrorReply`, or when the connection is lost before. */
  send(command: RedisCommand): Promise<unknown> {
    if (this.#client === undefined) return Promise.reject(redisClientErrors.connection('not connected'));
    return this.#client.sendCommand(command);
  }

  giveBack(user: object): void {
    this.#lost.delete(user);
    if (--this.users > 0) return;
    this.onUnused();
    this.#client?.destroy();
    this.#client = undefined;
  }

  async #connect(): Promise<void> {
    const client: RedisClient = await makeClient(this.conf, (reason) => this.#end(client, reason));
    try {
      await client.connect();
    } catch (error) {
      client.destroy();
      throw redisClientErrors.connection(reasonOf(error), { cause: error });
    }
    if (this.users > 0) this.#client = client;
    else client.destroy();
  }

  #end(client: RedisClient, reason: string): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    const users = [...this.#lost.values()];
    this.#lost.clear();
    for (const lost of users) lost(reason);
    client.destroy();
  }
}
