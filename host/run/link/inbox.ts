/**
 * What a data plane is told, in its order, with turns of the event loop in between. A port hands over up to a thousand
 * messages in one turn, each with many starts: what these wait for, as code that is loaded, would not come before the
 * last of them, nor would timers, sockets and the heartbeat. What was sent together stays together.
 */

/** Messages are taken for so long in one turn of the event loop, ms. */
const turnMs = 10;

export class Inbox<T> {
  readonly #waiting: T[] = [];
  #take: ((batch: T) => void) | undefined;
  /** When no more is taken in this turn; undefined before the first of it. */
  #turnEnd: number | undefined;

  add(batch: T): void {
    this.#waiting.push(batch);
    this.#takeAll();
  }

  /** Batches are taken from now on. */
  open(take: (batch: T) => void): void {
    this.#take = take;
    this.#takeAll();
  }

  #takeAll(): void {
    if (this.#take === undefined) return;
    if (this.#turnEnd === undefined) {
      this.#turnEnd = performance.now() + turnMs;
      setImmediate(() => {
        this.#turnEnd = undefined;
        if (this.#waiting.length > 0) this.#takeAll();
      });
    }
    while (this.#waiting.length > 0 && performance.now() < this.#turnEnd) this.#take(this.#waiting.shift()!);
  }
}
