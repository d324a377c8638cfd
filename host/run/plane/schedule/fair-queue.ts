/**
 * Turns of those that are throttled. Each turn of the event loop works off what has come for all others first; then the
 * throttled have a slice of time. While others had nothing to do they have all of it, while others are at work
 * without a break as much as one of these has on average. Among themselves they share by deficit round robin (Shreedhar
 * and Varghese, "Efficient fair queueing using deficit round robin", 1995): whoever took longer than its slice waits
 * until the others have had as much.
 */

/** Work that waits for its turn. */
export interface Turn {
  /** There is something to do, and it may be done now. */
  readonly isReady: boolean;
  /** Works for about so many ms; a single message may take longer. */
  work(ms: number): void;
}

export interface FairQueueOptions {
  /** ms, from any moment on. */
  now(): number;
  /** Calls back when the event loop has been to what has come meanwhile. */
  later(call: () => void): void;
  /** How many rules are not throttled. */
  others(): number;
}

/** Longest time that others wait for those behind, if no message takes longer, ms. */
const sliceMs = 4;
/** Less is not worth a turn, ms. */
const leastMs = 1;

export class FairQueue {
  /** Those that have something to do, with the time that they may take, ms. */
  readonly #deficits = new Map<Turn, number>();
  #isArmed = false;
  #isAtWork = false;
  /** What others took since the last turn, ms. */
  #othersMs = 0;
  /** What those behind may have although others are at work, ms. */
  #owedMs = 0;

  constructor(private readonly options: FairQueueOptions) {}

  /** Others, or one that has its turn, were at work. */
  worked(ms: number): void {
    if (!this.#isAtWork) this.#othersMs += ms;
  }

  /** It has something to do. */
  add(turn: Turn): void {
    if (!this.#deficits.has(turn)) this.#deficits.set(turn, 0);
    this.#arm();
  }

  remove(turn: Turn): void {
    this.#deficits.delete(turn);
  }

  #arm(): void {
    if (this.#isArmed || this.#deficits.size === 0) return;
    this.#isArmed = true;
    this.options.later(() => {
      this.#isArmed = false;
      this.#round();
      this.#arm();
    });
  }

  #round(): void {
    for (const turn of this.#deficits.keys()) if (!turn.isReady) this.#deficits.delete(turn);
    let left = this.#allowance();
    if (left < leastMs) return;
    while (left > 0) {
      const turn = this.#next();
      if (turn === undefined) return;
      if (!turn.isReady) {
        this.#deficits.delete(turn);
        continue;
      }
      const began = this.options.now();
      this.#isAtWork = true;
      try {
        turn.work(Math.min(left, this.#deficits.get(turn) ?? left));
      } finally {
        this.#isAtWork = false;
      }
      const took = Math.max(this.options.now() - began, leastMs / 100);
      left -= took;
      this.#owedMs -= took;
      const deficit = this.#deficits.get(turn);
      if (deficit === undefined) continue;
      if (turn.isReady) this.#deficits.set(turn, deficit - took);
      // A queue that is empty saves nothing for later.
      else this.#deficits.delete(turn);
    }
  }

  /** What those behind may take now, ms. */
  #allowance(): number {
    const others = this.#othersMs;
    this.#othersMs = 0;
    if (others === 0) {
      this.#owedMs = 0;
      return sliceMs;
    }
    this.#owedMs += others / Math.max(1, this.options.others());
    return Math.min(sliceMs, this.#owedMs);
  }

  /** Whose turn it is: the first that has time left; when none has, all get some more. */
  #next(): Turn | undefined {
    while (this.#deficits.size > 0) {
      for (const [turn, deficit] of this.#deficits) if (deficit > 0) return turn;
      for (const [turn, deficit] of [...this.#deficits]) {
        // Whose turn is over comes last.
        this.#deficits.delete(turn);
        this.#deficits.set(turn, deficit + sliceMs);
      }
    }
    return undefined;
  }
}
