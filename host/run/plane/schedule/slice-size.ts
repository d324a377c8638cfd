/** Estimates how much input fits into a given time, from the times that the last pieces took. */

/** Bytes of a piece: the first one, and the least and the most. */
const firstBytes = 4096;
const leastBytes = 256;
const mostBytes = 256 * 1024;
/** Most growth from one piece to the next. */
const growth = 4;
/** Resolution of the clock, ms. */
const leastMs = 0.001;

export class SliceSize {
  #bytes = firstBytes;

  constructor(private readonly now: () => number) {}

  /** Forgets the estimate, since the next input may differ. */
  forget(): void {
    this.#bytes = firstBytes;
  }

  /**
   * Calls `work` with the most bytes to take, until `ms` are over or it can't go on; `work` returns the bytes taken.
   */
  spend(ms: number, work: (most: number) => number, canGoOn: () => boolean): void {
    const end = this.now() + ms;
    for (let at = end - ms; at < end && canGoOn(); ) {
      const most = this.#bytes;
      const done = work(most);
      const now = this.now();
      const fit = (done * ms) / Math.max(now - at, leastMs);
      this.#bytes = Math.round(Math.min(Math.max(fit, leastBytes), most * growth, mostBytes));
      at = now;
    }
  }
}
