/**
 * When connections are tried again: one policy for all of a data plane, and news of the other side for those who wait.
 */

const firstDelayMs = 200;
/** Attempts are spread, so that thousands don't come at the same moment: a delay is this much shorter at most. */
const jitter = 0.2;
/** Delay between two parts that reconnect to the same system, ms. */
const spreadMs = 1;
const maxSpreadMs = 1000;

const defaultMaxDelayMs = 5000;

/** A connection that is down and waits for its next attempt. */
export interface Waiting {
  /** Tries within the time given, if that is sooner. */
  hurry(ms: number): void;
}

export class Reconnects {
  readonly #waiting = new Map<string, Set<Waiting>>();

  /** @param maxDelayMs longest time between two attempts */
  constructor(private readonly maxDelayMs = defaultMaxDelayMs) {}

  /** Delay before attempt number `attempt` (from 1), ms. */
  delayMs(attempt: number): number {
    const delay = Math.min(this.maxDelayMs, firstDelayMs * 2 ** Math.min(attempt - 1, 20));
    return delay * (1 - jitter * Math.random());
  }

  /** `one` wants to hear when another connection reaches the peer. */
  wait(peer: string, one: Waiting): void {
    const others = this.#waiting.get(peer);
    if (others === undefined) this.#waiting.set(peer, new Set([one]));
    else others.add(one);
  }

  forget(peer: string, one: Waiting): void {
    const others = this.#waiting.get(peer);
    if (others?.delete(one) === true && others.size === 0) this.#waiting.delete(peer);
  }

  /** A connection to the peer is up: those who wait for it try at once. */
  reached(peer: string): void {
    const others = this.#waiting.get(peer);
    if (others === undefined) return;
    const spread = Math.min(maxSpreadMs, others.size * spreadMs);
    for (const one of others) one.hurry(Math.random() * spread);
  }
}
