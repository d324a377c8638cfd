/** Reads a stream without a group: the position is the id of the last entry. */

import { FrameBuffer } from '../frames.js';
import type { Source, SourceContext } from '../running.js';
import { compareIds, type Entry, entriesIn, isId, payloadOf } from './entry.js';
import { redisStreamErrors } from './errors.js';
import { blockMs, EntryCount, type Reading, type RedisStreamConf, RedisStreamSource, type Send } from './reader.js';

/** Before all entries. */
const first = '0-0';

export class PositionedRedisStream extends RedisStreamSource implements Source {
  readonly #reading: PositionedReading;

  constructor(conf: RedisStreamConf, context: SourceContext) {
    const reading = new PositionedReading(conf, context);
    super(conf, context, reading);
    this.#reading = reading;
  }

  position(): { id: string } | undefined {
    const { at } = this.#reading;
    return at === undefined ? undefined : { id: at };
  }

  seek(given: unknown): void {
    const id = readPosition(given);
    const { at, isBegun } = this.#reading;
    if (isBegun || at === undefined || compareIds(id, at) < 0) this.#reading.at = id;
  }

  isAt(given: unknown): boolean {
    return this.#reading.at === readPosition(given);
  }
}

class PositionedReading implements Reading {
  /** Id of the last entry that was written; undefined before the first connection. */
  at: string | undefined;
  isBegun = false;
  readonly #frames = new FrameBuffer();
  readonly #count = new EntryCount();
  readonly #stream: string;

  constructor(
    private readonly conf: RedisStreamConf,
    private readonly context: SourceContext,
  ) {
    this.#stream = context.dataSource;
  }

  async begin(send: Send): Promise<void> {
    const { at } = this;
    if (at === undefined) this.at = await this.#start(send);
    else if (at !== first) await this.#lookForGap(send, at);
    this.isBegun = true;
  }

  async next(send: Send): Promise<void> {
    const from = this.at ?? first;
    const count = String(this.#count.most);
    const answer = await send(['XREAD', 'COUNT', count, 'BLOCK', String(blockMs), 'STREAMS', this.#stream, from]);
    // The engine has gone back meanwhile.
    if (this.at !== from) return;
    const entries = entriesIn(answer);
    const last = entries.at(-1);
    if (last === undefined) return;
    for (const [id, fields] of entries) {
      const payload = payloadOf(fields ?? [], this.conf.field);
      this.#count.came(payload.length);
      this.#frames.add(payload, metaOf(this.#stream, id));
    }
    this.at = last[0].toString();
    this.context.write(this.#frames.bytes);
    this.#frames.clear();
  }

  /** Id behind which the first entry stands. */
  async #start(send: Send): Promise<string> {
    const { startId } = this.conf;
    if (startId !== '$') return startId.includes('-') ? startId : `${startId}-0`;
    // The end now: entries that come while there is no connection must not be missed.
    const [last] = (await send(['XREVRANGE', this.#stream, '+', '-', 'COUNT', '1'])) as Entry[];
    return last?.[0].toString() ?? first;
  }

  /** Counts entries that were removed before they were read. */
  async #lookForGap(send: Send, at: string): Promise<void> {
    const [oldest] = (await send(['XRANGE', this.#stream, '-', '+', 'COUNT', '1'])) as Entry[];
    const info = (await send(['XINFO', 'STREAM', this.#stream]).catch(() => [])) as unknown[];
    const place = info.findIndex((name) => String(name) === 'max-deleted-entry-id');
    const removed = place < 0 ? first : String(info[place + 1]);
    if (oldest === undefined || compareIds(removed, at) <= 0) return;
    this.context.exception(`entries of stream ${this.#stream} behind ${at} were removed before they were read`);
  }
}

/** Metadata of an entry. */
export function metaOf(stream: string, id: Buffer): Buffer {
  return Buffer.from(JSON.stringify({ stream, id: id.toString() }));
}

function readPosition(given: unknown): string {
  const { id } = (given ?? {}) as { id?: unknown };
  if (typeof id !== 'string' || !isId(id)) throw redisStreamErrors.position();
  return id;
}
