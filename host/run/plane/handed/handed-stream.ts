/**
 * A stream that other data planes read as well: its source gives them the input that the kernel here has taken. Each is
 * a branch of the source, and begins between two inputs with what the stream keeps, as half a message.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { inputOf } from '../../../../kernels/streams/copy.js';
import { type Block, MemoryBus, type Subscriber } from '../../../connectors/topics/bus.js';
import type { FedSource } from '../feed/fed-source.js';
import { blocksTopic, kinds, type Wish, wishesTopic, wishOf } from './blocks.js';
import { Reader } from './reader.js';

/** Time until a begin that the kernel had no memory for is tried again, ms. */
const retryMs = 100;
/** A source waits no longer for its first reader, ms: it may have failed. */
const firstMs = 10_000;
/** Nobody holds a stream for longer, ms. */
const longestHoldMs = 20_000;

/** The source of the stream. */
export interface HandingSource extends FedSource {
  shared<T>(key: string, make: () => T): T;
  /** Reads no more, while what was read is worked on; or reads on. */
  hold(isHeld: boolean): void;
  /** Resolves when all is worked on that was read before the hold. */
  whenWorkedOn(): Promise<boolean>;
}

export class HandedStream implements Subscriber {
  readonly #bus: MemoryBus;
  readonly #readers = new Map<number, Reader>();
  /** Session that each data plane has asked for last. */
  readonly #wanted = new Map<number, number>();
  readonly #leaveBus: () => void;
  #whenRead: (() => void)[] = [];
  #isHeld = false;
  #held: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** @param key number of the hand-over */
  constructor(
    private readonly source: HandingSource,
    private readonly key: number,
  ) {
    this.#bus = source.shared('memory.bus', () => new MemoryBus());
    this.#bus.subscribe(wishesTopic(key), this);
    this.#leaveBus = this.#bus.onFar(() => this.#look());
  }

  /** Called while the kernel runs. */
  deliver({ bytes, taken }: Block): void {
    const wish = wishOf(bytes);
    taken();
    setImmediate(() => this.#hear(wish));
  }

  #hear(wish: Wish): void {
    const { plane, session, isWanted } = wish;
    if (isWanted) this.#wanted.set(plane, session);
    else if (this.#wanted.get(plane) === session) this.#wanted.delete(plane);
    this.#take(wish);
  }

  #take(wish: Wish): void {
    if (this.#isClosed) return;
    const { plane, session, isWanted } = wish;
    const reader = this.#readers.get(plane);
    if (isWanted && reader?.session !== session) this.#begin(wish);
    else if (!isWanted && reader?.session === session) this.#drop(plane);
  }

  #begin(wish: Wish): void {
    const { source } = this;
    const { kernel } = source.host;
    const { plane, session } = wish;
    this.#drop(plane);
    // A reader counts whole frames from its begin on.
    if (source.form.framing === 'frames' && kernel.unreadBytes(source.stream) > 0) source.settle();
    const isCut = source.form.framing === 'frames' && kernel.unreadBytes(source.stream) > 0;
    const state = isCut ? undefined : inputOf(kernel, source.stream);
    if (state === undefined) {
      // Meanwhile another session may have begun there.
      setTimeout(() => this.#wanted.get(plane) === session && this.#take(wish), retryMs);
      return;
    }
    const topic = blocksTopic(this.key, plane);
    const reader = new Reader({ bus: this.#bus, topic, session, holds: (isFull) => this.#hold(isFull) });
    this.#readers.set(plane, reader);
    reader.tell(kinds.begin, state);
    this.#tellStatus(reader);
    if (source.isEnded) reader.end();
    else source.branches.all.add(reader);
    for (const call of this.#whenRead.splice(0)) call();
  }

  #drop(plane: number): void {
    const reader = this.#readers.get(plane);
    if (reader === undefined) return;
    this.#readers.delete(plane);
    this.source.branches.all.delete(reader);
    reader.close();
  }

  /** Readers whose thread has ended are gone. */
  #look(): void {
    for (const plane of [...this.#readers.keys()]) if (!this.#bus.hasFar(plane)) this.#drop(plane);
  }

  #hold(isFull: boolean): void {
    if (!this.source.isClosed) this.source.sinkIsFull(isFull);
  }

  /** The source has connected, or has not. */
  changed(): void {
    for (const reader of this.#readers.values()) this.#tellStatus(reader);
  }

  #tellStatus(reader: Reader): void {
    const { status, lastMessage } = this.source.connection;
    if (status === 1) reader.tell(kinds.up);
    else if (lastMessage !== '') reader.tell(kinds.down, Buffer.from(lastMessage));
  }

  /** The source can't run at all. */
  refused(reason: string): void {
    for (const reader of this.#readers.values()) reader.tell(kinds.refused, Buffer.from(reason));
  }

  /** Resolves when another data plane reads the stream, or after a while. */
  async whenRead(): Promise<void> {
    if (this.#readers.size > 0) return;
    await new Promise<void>((resolve) => {
      this.#whenRead.push(resolve);
      setTimeout(resolve, firstMs).unref();
    });
  }

  /** Reads no more until `release`; resolves when all that was read is worked on, in all data planes. */
  async hold(): Promise<void> {
    this.#isHeld = true;
    this.source.hold(true);
    clearTimeout(this.#held);
    this.#held = setTimeout(() => this.#release(), longestHoldMs);
    await this.source.whenWorkedOn();
    await Promise.all([...this.#readers.values()].map((reader) => reader.whenTaken()));
  }

  /** Reads on when it is handed to these data planes. */
  async release(planes: readonly number[]): Promise<void> {
    await this.#hearAll();
    while (this.#isHeld && planes.some((plane) => !this.#readers.has(plane))) {
      await new Promise<void>((resolve) => this.#whenRead.push(resolve));
    }
    this.#release();
  }

  /** Takes the wishes that were told by now, so that a reader which has left is not taken for the one that follows. */
  async #hearAll(): Promise<void> {
    this.#bus.listen();
    await turn();
    await turn();
  }

  #release(): void {
    clearTimeout(this.#held);
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.source.hold(false);
    for (const call of this.#whenRead.splice(0)) call();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#leaveBus();
    this.#bus.unsubscribe(this);
    for (const plane of [...this.#readers.keys()]) this.#drop(plane);
    this.#release();
  }
}
