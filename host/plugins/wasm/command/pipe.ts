/**
 * Bytes from one thread to another: a ring in shared memory. The thread of a program may wait in it, for bytes or for
 * room; the data plane never waits, it is woken by a message.
 */
import { firstFree, Ring } from '../../../base/structures/ring.js';

const handledAt = firstFree;

/** A pipe whose other side is another thread; both have the same memory. */
export class Pipe extends Ring {
  /** Bytes that the reader has dealt with, modulo 2^32. */
  get handled(): number {
    return Atomics.load(this.control, handledAt);
  }

  /** Writes as much as there is room for; returns how much that was. */
  write(bytes: Uint8Array): number {
    const length = this.put(bytes);
    if (length > 0) this.signal();
    return length;
  }

  /** Writes all parts, from the thread of a program; `wait` is called with what waits for room. */
  writeAll(parts: readonly Uint8Array[], wait: (wait: () => void) => void): void {
    for (const part of parts) {
      for (let from = this.put(part); from < part.length; from += this.put(part.subarray(from))) {
        this.signal();
        wait(() => this.waitUntil(() => this.room > 0));
      }
    }
    this.signal();
  }

  /** Moves bytes that are there; returns how many. */
  readInto(to: Uint8Array): number {
    const length = this.take(to);
    if (length > 0) this.signal();
    return length;
  }

  /** The reader has dealt with all that it has read. */
  handle(): void {
    Atomics.store(this.control, handledAt, this.read);
  }

  /** Waits in the thread of a program until the condition holds. */
  waitUntil(holds: () => boolean): void {
    for (;;) {
      const seen = this.signals;
      if (holds()) return;
      this.waitForSignal(seen);
    }
  }
}
