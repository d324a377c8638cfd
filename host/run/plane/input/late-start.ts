/**
 * Rules that come back together and share a stream are to get all of it, so it starts when all of them are there, and
 * when the tables are read that their first rows are to find.
 */

/** Longest time between two rules that come together, ms. */
const othersMs = 200;
/** For all of them, and for their tables, nobody waits longer, ms. */
const longestMs = 5000;

export class LateStart {
  #timer: NodeJS.Timeout | undefined;
  #until: number | undefined;
  /** Until when tables are waited for. */
  #readBy: number | undefined;
  /** Number of rules whose tables are not read yet. */
  #unread = 0;
  /** The source starts as soon as the tables are read. */
  #isDue = false;

  constructor(private readonly start: () => void) {}

  /** A rule has come: another one may follow. */
  postpone(): void {
    this.cancel();
    this.#until ??= performance.now() + longestMs;
    this.#startIn(Math.min(othersMs, this.#until - performance.now()));
  }

  /** A rule has come whose tables are being read. */
  async awaitTables(read: Promise<void>): Promise<void> {
    this.#unread++;
    await read;
    this.#unread--;
    if (this.#isDue && this.#unread === 0) this.start();
  }

  /** Asks for the start; returns whether it may be now. Otherwise it comes when all tables are read. */
  isFree(): boolean {
    this.cancel();
    if (this.#unread > 0) this.#readBy ??= performance.now() + longestMs;
    const leftMs = this.#unread === 0 ? 0 : this.#readBy! - performance.now();
    this.#isDue = leftMs > 0;
    if (this.#isDue) this.#startIn(leftMs);
    return !this.#isDue;
  }

  #startIn(ms: number): void {
    this.#timer = setTimeout(this.start, Math.max(0, ms));
  }

  cancel(): void {
    clearTimeout(this.#timer);
  }
}
