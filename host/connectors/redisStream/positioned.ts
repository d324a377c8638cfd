/** Reads a stream without a group: the position is the id of the last entry. */

import { FrameBuffer } from '../messages/frames.js';
import type { Source, SourceContext } from '../running.js';
import { compareIds, type Entry, EntryReader, entriesIn, isId } from './entry.js';
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
  readonly #entries: EntryReader;
  /** What is asked for already, and the id behind which. */
  #asked: { readonly from: string; readonly answer: Promise<unknown> } | undefined;

  constructor(
    private readonly conf: RedisStreamConf,
    private readonly context: SourceContext,
  ) {
    this.#stream = context.dataSource;
    this.#entries = new EntryReader(this.#stream, conf.field);
  }

  async begin(send: Send): Promise<void> {
    this.#asked = undefined;
    const { at } = this;
    if (at === undefined) this.at = await this.#start(send);
    else if (at !== first) await this.#lookForGap(send, at);
    this.isBegun = true;
  }

  async next(send: Send): Promise<void> {
    const from = this.at ?? first;
    const asked = this.#asked;
    this.#asked = undefined;
    const answer = await (asked?.from === from ? asked.answer : this.#ask(send, from));
    // The engine has gone back meanwhile.
    if (this.at !== from) return;
    const entries = entriesIn(answer);
    const last = entries.at(-1);
    if (last === undefined) return;
    for (const [id, fields] of entries) {
      const payload = this.#entries.payloadOf(fields ?? []);
      this.#count.came(payload.length);
      this.#frames.add(payload, this.#entries.metaOf(id));
    }
    this.at = last[0].toString();
    // The server looks for the next entries while these are worked on.
    if (!this.context.isFull) {
      const ahead = this.#ask(send, this.at);
      // Whoever waits for it hears of a failure, and nobody does when the connection is lost.
      ahead.catch(() => {});
      this.#asked = { from: this.at, answer: ahead };
    }
    this.context.write(this.#frames.bytes);
    this.#frames.clear();
  }

  #ask(send: Send, from: string): Promise<unknown> {
    const count = String(this.#count.most);
    return send(['XREAD', 'COUNT', count, 'BLOCK', String(blockMs), 'STREAMS', this.#stream, from]);
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

function readPosition(given: unknown): string {
  const { id } = (given ?? {}) as { id?: unknown };
  if (typeof id !== 'string' || !isId(id)) throw redisStreamErrors.position();
  return id;
}
