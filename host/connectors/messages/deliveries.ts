/**
 * Messages of a broker that waits for their acknowledgement. They are written together at the end of a turn of the
 * event loop; when the engine has some safe, the source gets back what it gave with them.
 */

import type { SourceContext } from '../running.js';
import { FrameBuffer } from './frames.js';

export class Deliveries<T> {
  readonly #frames = new FrameBuffer();
  /** What was given with each message, in order; the first belongs to the receipt `#first`. */
  #given: T[] = [];
  #first = 0;
  /** Number of entries at the begin of `#given` that were acknowledged. */
  #over = 0;
  /** Receipt of the next message. */
  #next = 0;
  #written = 0;
  #isScheduled = false;
  #isClosed = false;

  /** @param acknowledge the messages with which these were given are safe, in order of arrival */
  constructor(
    private readonly context: SourceContext,
    acknowledge: (given: readonly T[]) => void,
  ) {
    context.onAcknowledge((receipts) => acknowledge(this.#take(receipts)));
  }

  /** Number of messages that are not acknowledged. */
  get waiting(): number {
    return this.#given.length - this.#over;
  }

  /** Bytes that were not written yet. */
  get unwrittenBytes(): number {
    return this.#frames.sizeBytes;
  }

  /** Takes a message and its metadata, the text of a JSON object. */
  add(payload: Uint8Array, meta: Uint8Array, given: T): void {
    this.#frames.add(payload, meta);
    this.#given.push(given);
    this.#next = (this.#next + 1) >>> 0;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => void this.#write());
  }

  close(): void {
    this.#isClosed = true;
  }

  async #write(): Promise<void> {
    if (this.context.isFull) await this.context.ready();
    this.#isScheduled = false;
    const { count } = this.#frames;
    if (this.#isClosed || count === 0) return;
    const receipts = new Uint32Array(count);
    for (let i = 0; i < count; i++) receipts[i] = this.#written + i;
    this.#written = (this.#written + count) >>> 0;
    this.context.write(this.#frames.bytes, receipts);
    this.#frames.clear();
  }

  #take(receipts: Uint32Array): T[] {
    const taken: T[] = [];
    for (const receipt of receipts) {
      const at = (receipt - this.#first) >>> 0;
      if (at < this.#given.length) taken.push(this.#given[at]!);
      this.#over = Math.max(this.#over, at + 1);
    }
    if (this.#over > 1024 || this.#over === this.#given.length) {
      this.#given = this.#given.slice(this.#over);
      this.#first = (this.#first + this.#over) >>> 0;
      this.#over = 0;
    }
    return taken;
  }
}
