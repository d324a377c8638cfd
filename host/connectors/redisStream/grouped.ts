/**
 * Reads a stream as a consumer of a group: the server keeps what is not acknowledged. What this consumer had before,
 * and what others have had for too long, is claimed at the start and from time to time.
 */
import { reasonOf } from '../../base/errors.js';
import { isReply, RedisPool, type SharedRedis } from '../../clients/redis/client.js';
import { Deliveries } from '../messages/deliveries.js';
import type { SourceContext } from '../running.js';
import { redisSettings } from '../servers/redis.js';
import { type Entry, EntryReader, entriesIn } from './entry.js';
import { blockMs, EntryCount, type Reading, type RedisStreamConf, RedisStreamSource, type Send } from './reader.js';

/** Most ids in one acknowledgement. */
const mostIds = 5000;
/** Before all entries. */
const first = '0-0';
/** Longest time until a read looks again whether it may go on, ms. */
const pauseMs = 100;

export class GroupedRedisStream extends RedisStreamSource {
  readonly #reading: GroupedReading;

  constructor(conf: RedisStreamConf, context: SourceContext) {
    const reading = new GroupedReading(conf, context);
    super(conf, context, reading);
    this.#reading = reading;
  }

  override async close(): Promise<void> {
    await super.close();
    this.#reading.close();
  }
}

class GroupedReading implements Reading {
  readonly #deliveries: Deliveries<string>;
  readonly #stream: string;
  readonly #entries: EntryReader;
  readonly #count = new EntryCount();
  #acknowledger: SharedRedis;
  /** Ids of entries that are not acknowledged. */
  readonly #held = new Set<string>();
  /** Ids whose acknowledgement the server has not answered. */
  #unsent: string[] = [];
  #isSending = false;
  /** Id behind which the consumer's own pending entries are read; undefined when there are no more. */
  #own: string | undefined = first;
  #claimedAt = Number.NEGATIVE_INFINITY;
  #hasGroup = false;
  #room: (() => void)[] = [];

  constructor(
    private readonly conf: RedisStreamConf,
    private readonly context: SourceContext,
  ) {
    this.#stream = context.dataSource;
    this.#entries = new EntryReader(this.#stream, conf.field);
    this.#acknowledger = this.#connection(conf);
    this.#deliveries = new Deliveries(context, (ids) => this.#acknowledge(ids));
  }

  #connection(conf: RedisStreamConf): SharedRedis {
    const pool = this.context.shared('redis.clients', () => new RedisPool());
    return pool.take(redisSettings({ ...conf, addr: conf.address }, this.context.paths));
  }

  renew(conf: RedisStreamConf): void {
    this.#acknowledger.giveBack(this);
    this.#acknowledger = this.#connection(conf);
  }

  async begin(send: Send): Promise<void> {
    const { group, startId } = this.conf;
    // A group that went while it was read begins anew with all entries.
    const start = this.#hasGroup ? first : startId;
    try {
      await send(['XGROUP', 'CREATE', this.#stream, group, start, 'MKSTREAM']);
    } catch (error) {
      if (!isReply(error) || !error.message.startsWith('BUSYGROUP')) throw error;
    }
    this.#hasGroup = true;
    this.#own = first;
    this.#claimedAt = Number.NEGATIVE_INFINITY;
    void this.#send();
  }

  async next(send: Send): Promise<void> {
    const { group, consumer, maxPending, claimAfter } = this.conf;
    if (this.#held.size >= maxPending) {
      await this.#whenRoom();
      return;
    }
    const count = String(Math.min(this.#count.most, maxPending - this.#held.size));
    if (this.#own === undefined && performance.now() - this.#claimedAt >= claimAfter) await this.#claim(send, count);
    const from = this.#own ?? '>';
    const reads = ['XREADGROUP', 'GROUP', group, this.#consumer(consumer), 'COUNT', count];
    const answer = await send([...reads, 'BLOCK', String(blockMs), 'STREAMS', this.#stream, from]);
    const entries = entriesIn(answer);
    const last = entries.at(-1);
    this.#take(entries);
    if (this.#own !== undefined) this.#own = last === undefined ? undefined : last[0].toString();
  }

  end(): void {
    for (const call of this.#room.splice(0)) call();
  }

  close(): void {
    this.#deliveries.close();
    this.#acknowledger.giveBack(this);
  }

  #consumer(given: string): string {
    return given === '' ? this.context.name : given;
  }

  /** Takes entries over that others had for too long: they may be gone. */
  async #claim(send: Send, count: string): Promise<void> {
    const { group, consumer, claimAfter } = this.conf;
    this.#claimedAt = performance.now();
    let from = first;
    do {
      const command = ['XAUTOCLAIM', this.#stream, group, this.#consumer(consumer), String(claimAfter), from];
      const [next, entries] = (await send([...command, 'COUNT', count])) as [Buffer, Entry[]];
      this.#take(entries);
      from = next.toString();
    } while (from !== first && this.#held.size < this.conf.maxPending);
  }

  #take(entries: readonly Entry[]): void {
    for (const [bytes, fields] of entries) {
      const id = bytes.toString();
      if (this.#held.has(id)) continue;
      if (fields === null) {
        this.context.exception(`entry ${id} of stream ${this.#stream} was removed before it was read`);
        this.#acknowledge([id]);
        continue;
      }
      this.#held.add(id);
      const payload = this.#entries.payloadOf(fields);
      this.#count.came(payload.length);
      this.#deliveries.add(payload, this.#entries.metaOf(bytes), id);
    }
  }

  #whenRoom(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, pauseMs);
      this.#room.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #acknowledge(ids: readonly string[]): void {
    this.#unsent.push(...ids);
    void this.#send();
  }

  /** Sends acknowledgements; what the server did not answer is sent again on the next connection. */
  async #send(): Promise<void> {
    if (this.#isSending || this.#unsent.length === 0) return;
    this.#isSending = true;
    const ids = this.#unsent.splice(0, mostIds);
    let isSent = false;
    try {
      await this.#acknowledger.open(this, () => {});
      await this.#acknowledger.send(['XACK', this.#stream, this.conf.group, ...ids]);
      isSent = true;
      for (const id of ids) this.#held.delete(id);
      for (const call of this.#room.splice(0)) call();
    } catch (error) {
      this.#unsent = [...ids, ...this.#unsent];
      this.context.log.debug(`acknowledgements of stream ${this.#stream} wait: ${reasonOf(error)}`);
    } finally {
      this.#isSending = false;
    }
    if (isSent) void this.#send();
  }
}
