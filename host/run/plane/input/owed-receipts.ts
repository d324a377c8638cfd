/**
 * Receipts that are owed for messages in frames, from the connector until the kernel has taken the messages: there they
 * go to the barrier of their piece of input.
 */
import { FrameEnds } from '../../../connectors/messages/frames.js';

export class OwedReceipts {
  readonly #frames = new FrameEnds();
  #parts: Uint32Array[] = [];
  /** Number of receipts of the first part that were taken. */
  #taken = 0;
  /** Messages that go no further, by their number among all. */
  readonly #dropped = new Set<number>();
  /** Number of messages that came, and of those whose fate in front of the kernel is known. */
  #came = 0;
  #known = 0;
  /** Number of messages that were taken. */
  #done = 0;

  /** Receipts come, one for each message of the bytes that follow. */
  add(receipts: Uint32Array): void {
    this.#parts.push(receipts);
    this.#came += receipts.length;
  }

  /** The next message goes on to the kernel, or is dropped. */
  passed(isDropped: boolean): void {
    if (isDropped && this.#known < this.#came) this.#dropped.add(this.#known);
    this.#known++;
  }

  /** The kernel has taken the bytes; returns the receipts for the messages that are over with them. */
  fed(bytes: Uint8Array): Uint32Array {
    let ended = 0;
    this.#frames.read(bytes, () => ended++);
    return this.#take(ended);
  }

  /** Receipts for messages that were dropped and have none in front of them. */
  get leading(): Uint32Array {
    return this.#take(0);
  }

  #take(messages: number): Uint32Array {
    let count = 0;
    for (let left = messages; ; count++) {
      if (this.#dropped.delete(this.#done + count)) continue;
      if (left-- === 0) break;
    }
    count = Math.min(count, this.#came - this.#done);
    this.#done += count;
    const receipts = new Uint32Array(count);
    for (let at = 0; at < count; ) {
      const part = this.#parts[0]!;
      const piece = part.subarray(this.#taken, this.#taken + count - at);
      receipts.set(piece, at);
      at += piece.length;
      this.#taken += piece.length;
      if (this.#taken < part.length) continue;
      this.#parts.shift();
      this.#taken = 0;
    }
    return receipts;
  }
}
