/**
 * Subscribes to channels by patterns. A server can't be told to wait: while the sinks take no more, messages are kept
 * up to a bound, and what comes beyond it is dropped and counted.
 */

import { redisPeer } from '../../clients/redis/address.js';
import { makeClient, type RedisClient } from '../../clients/redis/client.js';
import { Drops } from '../drops.js';
import { FrameBuffer } from '../messages/frames.js';
import type { Source, SourceContext } from '../running.js';
import { type RedisConnectionConf, redisSettings } from '../servers/redis.js';

export interface RedisSubConf extends Omit<RedisConnectionConf, 'addr'> {
  address: string;
  channels: string[];
}

/** Messages that wait for the sinks, bytes. */
const mostWaiting = 8 << 20;

export class RedisSubSource implements Source {
  readonly peer: string;
  #client: RedisClient | undefined;
  #isClosed = false;
  readonly #frames = new FrameBuffer();
  readonly #metas = new Map<string, Buffer>();
  #isScheduled = false;
  readonly #drops: Drops;

  constructor(
    public conf: RedisSubConf,
    readonly context: SourceContext,
  ) {
    this.#drops = new Drops(context);
    this.peer = redisPeer(conf.address);
  }

  /** Each connection has a client of its own, which subscribes anew. */
  async open(): Promise<void> {
    const settings = redisSettings({ ...this.conf, addr: this.conf.address }, this.context.paths);
    const client: RedisClient = await makeClient(settings, (reason) => this.#lost(client, reason));
    try {
      await client.connect();
      const take = (payload: Buffer, channel: Buffer) => this.#take(payload, channel.toString());
      await client.pSubscribe(this.conf.channels, take, true);
    } catch (error) {
      client.destroy();
      throw error;
    }
    if (this.#isClosed) client.destroy();
    else this.#client = client;
  }

  renew(conf: RedisSubConf): void {
    this.conf = conf;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#drops.tell();
    this.#client?.destroy();
    this.#client = undefined;
  }

  #lost(client: RedisClient, reason: string): void {
    if (this.#client !== client) return;
    client.destroy();
    this.#client = undefined;
    this.context.disconnected(reason);
  }

  #take(payload: Buffer, channel: string): void {
    if (this.#frames.sizeBytes > mostWaiting) {
      if (this.context.isFull) {
        this.#drops.add();
        return;
      }
      this.#pass();
    }
    this.#frames.add(payload, this.#metaOf(channel));
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

  #metaOf(channel: string): Buffer {
    let meta = this.#metas.get(channel);
    if (meta === undefined) {
      if (this.#metas.size >= 1000) this.#metas.clear();
      meta = Buffer.from(JSON.stringify({ channel }));
      this.#metas.set(channel, meta);
    }
    return meta;
  }
}
