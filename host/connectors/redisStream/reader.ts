/**
 * Reads a stream on a connection of its own, on which the server keeps each request until something comes. How far it
 * has read, and what is acknowledged, is up to the two kinds of sources.
 */
import { RESP_TYPES } from '@redis/client';
import { reasonOf } from '../../base/errors.js';
import { redisPeer } from '../../clients/redis/address.js';
import { makeClient, type RedisClient, type RedisCommand } from '../../clients/redis/client.js';
import type { Source, SourceContext } from '../running.js';
import { type RedisConnectionConf, redisSettings } from '../servers/redis.js';

export interface RedisStreamConf extends Omit<RedisConnectionConf, 'addr'> {
  address: string;
  group: string;
  consumer: string;
  startId: string;
  field: string;
  claimAfter: number;
  maxPending: number;
}

/** Sends a command; texts in the answer are bytes. */
export type Send = (command: RedisCommand) => Promise<unknown>;

/** The kinds of reading. */
export interface Reading {
  /** Prepares the stream on a new connection. */
  begin(send: Send): Promise<void>;
  /** Reads once, waiting for a while; resolves when all that was read is written. */
  next(send: Send): Promise<void>;
  /** The connection was lost, or is not needed any more. */
  end?(): void;
  /** The login has changed. */
  renew?(conf: RedisStreamConf): void;
}

/** Time for which the server keeps a request that has no answer yet, ms. */
export const blockMs = 1000;
/** Most entries of an answer, entries of the first one, and bytes of one as far as earlier ones tell. */
const mostEntries = 1000;
const firstEntries = 16;
const mostBytes = 8 << 20;

/** How many entries are asked for at a time: as many as memory allows, since they may have any size. */
export class EntryCount {
  /** Size of entries, a moving average in bytes. */
  #size = 0;
  most = firstEntries;

  /** Notes the size of an entry that came. */
  came(bytes: number): void {
    this.#size += (bytes + 100 - this.#size) / 16;
    this.most = Math.max(1, Math.min(mostEntries, Math.floor(mostBytes / this.#size)));
  }
}

export class RedisStreamSource implements Source {
  readonly peer: string;
  #client: RedisClient | undefined;
  #isClosed = false;

  constructor(
    public conf: RedisStreamConf,
    readonly context: SourceContext,
    readonly reading: Reading,
  ) {
    this.peer = redisPeer(conf.address);
  }

  async open(): Promise<void> {
    const settings = redisSettings({ ...this.conf, addr: this.conf.address }, this.context.paths);
    const client: RedisClient = await makeClient(settings, (reason) => this.#lost(client, reason));
    const bytes = client.withTypeMapping({
      [RESP_TYPES.BLOB_STRING]: Buffer,
      [RESP_TYPES.SIMPLE_STRING]: Buffer,
    });
    const send: Send = (command) => bytes.sendCommand(command);
    try {
      await client.connect();
      await this.reading.begin(send);
    } catch (error) {
      client.destroy();
      throw error;
    }
    if (this.#isClosed) {
      client.destroy();
      return;
    }
    this.#client = client;
    void this.#read(client, send);
  }

  renew(conf: RedisStreamConf): void {
    this.conf = conf;
    this.reading.renew?.(conf);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#client?.destroy();
    this.#client = undefined;
    this.reading.end?.();
  }

  async #read(client: RedisClient, send: Send): Promise<void> {
    try {
      while (this.#client === client) {
        await this.reading.next(send);
        if (this.context.isFull) await this.context.ready();
      }
    } catch (error) {
      this.#lost(client, reasonOf(error));
    }
  }

  #lost(client: RedisClient, reason: string): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    client.destroy();
    this.reading.end?.();
    this.context.disconnected(reason);
  }
}
