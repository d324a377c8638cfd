/**
 * The fair queue of throttled rules. In each turn of the event loop all other work comes first; then the throttled
 * rules have a slice of time. While others had nothing to do they may use the whole slice; otherwise they get as much
 * as one of the others has on average. Among themselves they share by deficit round robin (Shreedhar and Varghese,
 * "Efficient fair queueing using deficit round robin", 1995): a rule that took longer than its slice waits until the
 * others have had as much.
 */

/** Work that waits for its turn. */
export interface Turn {
  /** There is work, and it may be done now. */
  readonly isReady: boolean;
  /** Works for about `ms` milliseconds; a single message may take longer. */
  work(ms: number): void;
}

export interface FairQueueOptions {
  /** Time in ms, from any moment on. */
  now(): number;
  /** Calls back after the event loop has handled all pending events. */
  later(call: () => void): void;
  /** Number of rules that are not throttled. */
  others(): number;
}

/** Longest time that other rules wait for throttled ones, if no message takes longer, ms. */
const sliceMs = 4;
/** Shortest time that is worth a turn, ms. */
const leastMs = 1;

export class FairQueue {
  /** Turns with work to do, and the time that each may take, ms. */
  readonly #deficits = new Map<Turn, number>();
  #isArmed = false;
  #isAtWork = false;
  /** Time that other rules took since the last round, ms. */
  #othersMs = 0;
  /** Time that throttled rules may take although others are at work, ms. */
  #owedMs = 0;

  constructor(private readonly options: FairQueueOptions) {}

  /** Notes work, which counts unless it belongs to a turn, ms. */
  worked(ms: number): void {
    if (!this.#isAtWork) this.#othersMs += ms;
  }

  /** Adds a turn that has work to do. */
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

  /** Time that throttled rules may take now, ms. */
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

  /** The next turn: the first that has time left; when none has, all get a further slice. */
  #next(): Turn | undefined {
    while (this.#deficits.size > 0) {
      for (const [turn, deficit] of this.#deficits) if (deficit > 0) return turn;
      for (const [turn, deficit] of [...this.#deficits]) {
        // A turn that gets a slice moves to the end of the order.
        this.#deficits.delete(turn);
        this.#deficits.set(turn, deficit + sliceMs);
      }
    }
    return undefined;
  }
}
