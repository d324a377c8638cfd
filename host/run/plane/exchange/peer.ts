/** Another data plane, as this one sees it: topics that it reads, and rows on their way there and back. */
import { setImmediate as turn } from 'node:timers/promises';
import { Ring } from '../../../base/structures/ring.js';
import type { Block, Done, FarSubscribers, Marker, MemoryBus } from '../../../connectors/topics/bus.js';
import { matches } from '../../../connectors/topics/matches.js';
import type { ExchangeFigures } from '../../../model/figures.js';
import {
  type Incoming,
  kinds,
  markerBody,
  markerOf,
  numberBody,
  RecordReader,
  RecordWriter,
  rowsHead,
  rowsOf,
} from './records.js';

interface Sent {
  readonly bytes: number;
  readonly taken: Done;
}

/** Rows, what stands between rows, and credit for them: they make work for rules. */
function isForBus({ kind }: Incoming): boolean {
  return kind === kinds.rows || kind === kinds.taken || kind === kinds.marker;
}

export interface PeerOptions {
  /** Number of the other data plane. */
  readonly number: number;
  /** Memory of the ring to it, and of the one from it. */
  readonly out: SharedArrayBuffer;
  readonly back: SharedArrayBuffer;
  readonly bus: MemoryBus;
  /** Called when it has ended its work; `blocks` were under way to it. */
  readonly gone: (peer: Peer, blocks: number) => void;
}

export class Peer implements FarSubscribers {
  readonly #out: Ring;
  readonly #back: Ring;
  readonly #writer: RecordWriter;
  readonly #reader: RecordReader;
  readonly #filters = new Map<string, readonly string[]>();
  /** It has told all filters; before that it gets all topics. */
  #isReady = false;
  readonly #sent = new Map<number, Sent>();
  #last = 0;
  #sentBytes = 0;
  #waitingBytes = 0;
  #late: Incoming[] = [];
  #isGone = false;

  constructor(private readonly options: PeerOptions) {
    this.#out = new Ring(options.out);
    this.#back = new Ring(options.back);
    this.#writer = new RecordWriter(this.#out);
    this.#reader = new RecordReader(this.#back);
    for (const filter of options.bus.filters) this.#writer.write(kinds.reads, Buffer.from(filter));
    this.#writer.write(kinds.ready);
    options.bus.setFar(this, true);
    void this.#follow();
  }

  get number(): number {
    return this.options.number;
  }

  get figures(): ExchangeFigures {
    return {
      plane: this.number,
      sentBytes: this.#sentBytes,
      waitingBytes: this.#waitingBytes,
      isRingFull: this.#writer.waitingBytes > 0,
    };
  }

  /** A filter of this data plane has its first reader, or has lost its last. */
  tell(filter: string, isRead: boolean): void {
    this.#writer.write(isRead ? kinds.reads : kinds.readsNoMore, Buffer.from(filter));
  }

  reads(topic: string): boolean {
    if (!this.#isReady) return true;
    const levels = topic.split('/');
    for (const filter of this.#filters.values()) if (matches(filter, levels)) return true;
    return false;
  }

  deliver({ bytes, taken }: Block, topic: string): void {
    if (this.#isGone) {
      taken();
      return;
    }
    const number = this.#last++ >>> 0;
    this.#sent.set(number, { bytes: bytes.length, taken });
    this.#sentBytes += bytes.length;
    this.#waitingBytes += bytes.length;
    this.#writer.write(kinds.rows, rowsHead(number, topic), bytes);
  }

  mark(topic: string, marker: Marker): void {
    if (!this.#isGone) this.#writer.write(kinds.marker, markerBody(topic, marker));
  }

  /** Takes what there is now of the filters; it is called while the kernel runs, so rows wait for their turn. */
  listen(): void {
    if (this.#back.available === 0) return;
    if (this.#late.length === 0) setImmediate(() => this.#takeLate());
    this.#read((record) => void (isForBus(record) ? this.#late.push(record) : this.#take(record)));
  }

  #takeLate(): void {
    const late = this.#late;
    this.#late = [];
    for (const record of late) this.#take(record);
  }

  /**
   * The other one has died. What it has written as a whole is in the ring, and is taken; what was on its way to it, or
   * waited there for its rules, is lost, and counts as failed in those that sent it.
   */
  died(): void {
    if (this.#isGone) return;
    this.#takeLate();
    while (this.#read((record) => this.#take(record)));
    this.#leave(`data plane ${this.number} ended before its rules had taken it`);
  }

  /** Nobody will take what is on its way. */
  #leave(lost?: string): void {
    if (this.#isGone) return;
    this.#isGone = true;
    const { bus, gone } = this.options;
    bus.setFar(this, false);
    const left = [...this.#sent.values()];
    this.#sent.clear();
    this.#waitingBytes = 0;
    for (const { taken } of left) taken(lost);
    gone(this, left.length);
    // Whoever follows the ring goes on and ends.
    this.#back.signal();
  }

  /** This data plane ends. */
  end(): void {
    this.#out.end();
  }

  /** Reads whenever the other one has written, until it is gone. */
  async #follow(): Promise<void> {
    while (!this.#isGone) {
      const { signals } = this.#back;
      this.#takeLate();
      const isMore = this.#read((record) => this.#take(record));
      this.#writer.goOn();
      if (this.#back.isEnded && this.#back.available === 0) this.#leave();
      else if (isMore) await turn();
      else await this.#back.whenSignalled(signals);
    }
  }

  #read(take: (record: Incoming) => void): boolean {
    const isMore = this.#reader.read(take);
    // It waits for room, and hears of it as of records.
    if (this.#back.takeWait()) this.#out.signal();
    return isMore;
  }

  #take({ kind, body }: Incoming): void {
    const { bus } = this.options;
    switch (kind) {
      case kinds.reads:
      case kinds.readsNoMore: {
        const filter = body.toString();
        if (kind === kinds.reads) this.#filters.set(filter, filter.split('/'));
        else this.#filters.delete(filter);
        bus.setFar(this, true);
        return;
      }
      case kinds.ready:
        this.#isReady = true;
        bus.setFar(this, true);
        return;
      case kinds.rows: {
        const { number, topic, frames } = rowsOf(body);
        bus.publishHere(topic, frames, () => this.#writer.write(kinds.taken, numberBody(number)));
        return;
      }
      case kinds.marker: {
        const { topic, marker } = markerOf(body);
        bus.markHere(topic, marker);
        return;
      }
      case kinds.taken: {
        const number = body.readUInt32LE(0);
        const sent = this.#sent.get(number);
        if (sent === undefined) return;
        this.#sent.delete(number);
        this.#waitingBytes -= sent.bytes;
        sent.taken();
        return;
      }
      default:
        throw new Error(`data plane ${this.number} sends records of the unknown kind ${kind}`);
    }
  }
}
