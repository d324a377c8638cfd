/** How much input is processed in a given time: learnt from what the last pieces took. */

/** Bytes of a piece: the first one, and the least and the most. */
const firstBytes = 4096;
const leastBytes = 256;
const mostBytes = 256 * 1024;
/** A piece is so many times as long as the one before at most. */
const growth = 4;
/** A clock is no finer, ms. */
const leastMs = 0.001;

export class SliceSize {
  #bytes = firstBytes;

  constructor(private readonly now: () => number) {}

  /** What comes now is of another kind maybe. */
  forget(): void {
    this.#bytes = firstBytes;
  }

  /** Calls `work` with the most bytes to take until the ms are over or it can't go on; it returns how many it took. */
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
