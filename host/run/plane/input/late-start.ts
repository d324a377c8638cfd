/** Rules that come back together and share a stream are to get all of it, so it starts when all of them are there. */

/** Longest time between two rules that come together, ms. */
const othersMs = 200;
/** For all of them nobody waits longer, ms. */
const longestMs = 5000;

export class LateStart {
  #timer: NodeJS.Timeout | undefined;
  #until: number | undefined;

  constructor(private readonly start: () => void) {}

  /** A rule has come: another one may follow. */
  postpone(): void {
    this.cancel();
    this.#until ??= performance.now() + longestMs;
    this.#timer = setTimeout(this.start, Math.max(0, Math.min(othersMs, this.#until - performance.now())));
  }

  cancel(): void {
    clearTimeout(this.#timer);
  }
}
