/** Messages in flight, in order: the connector behind a retry queue has got them and not passed them on. */
import type { SpillQueue } from './spill-queue.js';

/** Most messages in flight, and most messages of a round (see `isInRounds`). */
const windowMessages = 4096;
const roundMessages = 1024;

interface Part {
  /** Queue of the messages; undefined for messages from before there was a queue. */
  readonly queue: SpillQueue | undefined;
  left: number;
  readonly bytes: number;
}

export class InFlight {
  readonly #parts: Part[] = [];
  #messages = 0;
  #bytes = 0;
  #outOfRound = 0;
  #roundMessages = 0;
  #roundBytes = 0;

  /** @param isInRounds messages may leave out of their order: they count as out when all are */
  constructor(private readonly isInRounds: boolean) {}

  get isEmpty(): boolean {
    return this.#parts.length === 0;
  }

  isAllOf(queue: SpillQueue): boolean {
    return this.#parts.every((part) => part.queue === queue);
  }

  hasRoom(maxBytes: number): boolean {
    if (this.isInRounds) return this.#roundMessages < roundMessages && this.#roundBytes < maxBytes;
    return this.#messages < windowMessages && this.#bytes < maxBytes;
  }

  add(queue: SpillQueue | undefined, messages: number, bytes: number): void {
    if (messages <= 0) return;
    this.#parts.push({ queue, left: messages, bytes });
    this.#messages += messages;
    this.#bytes += bytes;
    this.#roundMessages += messages;
    this.#roundBytes += bytes;
  }

  /** Removes messages that were sent or lost; `out` gets those that count as sent now. */
  leave(messages: number, out: (queue: SpillQueue | undefined, messages: number) => void): void {
    if (this.isInRounds) {
      this.#outOfRound += messages;
      if (this.#outOfRound < this.#messages) return;
      this.#outOfRound = 0;
    }
    let left = this.isInRounds ? this.#messages : messages;
    while (left > 0 && this.#parts.length > 0) {
      const first = this.#parts[0]!;
      const part = Math.min(left, first.left);
      left -= part;
      first.left -= part;
      this.#messages -= part;
      if (first.left === 0) {
        this.#parts.shift();
        this.#bytes -= first.bytes;
      }
      out(first.queue, part);
    }
    if (!this.isEmpty) return;
    this.#roundMessages = 0;
    this.#roundBytes = 0;
  }
}
