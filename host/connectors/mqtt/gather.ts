/**
 * Decides when reading pauses for a moment. A sender that writes each message by itself costs a system call and a
 * wake-up for each; gathering them for a millisecond costs far less, and only fast senders are slowed by it.
 */

/** Reads per second from which gathering starts, and below which it ends. */
const startRate = 25_000;
const endRate = 15_000;
const windowMs = 4;
/** A read of this size was worth its call. */
const largeReadBytes = 32 * 1024;
/** How often the clock is looked at while the rate is low. */
const readsPerLook = 16;

export class Gathering {
  #reads = 0;
  #bytes = 0;
  #since = performance.now();
  /** Bytes of a read when nothing was gathered. */
  #bytesPerRead = 0;
  #isActive = false;

  /** Takes note of a read; true when the next one should wait. */
  note(bytes: number): boolean {
    this.#reads++;
    this.#bytes += bytes;
    if (!this.#isActive && this.#reads % readsPerLook !== 0) return false;
    const now = performance.now();
    const elapsed = now - this.#since;
    if (elapsed >= windowMs) {
      const reads = this.#isActive ? this.#bytes / this.#bytesPerRead : this.#reads;
      const rate = (reads / elapsed) * 1000;
      if (!this.#isActive && rate >= startRate) {
        this.#isActive = true;
        this.#bytesPerRead = this.#bytes / this.#reads;
      } else if (this.#isActive && rate < endRate) {
        this.#isActive = false;
      }
      this.#reads = 0;
      this.#bytes = 0;
      this.#since = now;
    }
    return this.#isActive && bytes < largeReadBytes;
  }
}
