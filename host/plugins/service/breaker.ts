/**
 * Knows whether a service is down. After some failures in a row it is not asked for a while; then one call tries it,
 * and its end decides for all others.
 */

import type { BreakerState } from '../service-figures.js';

export class Breaker {
  #failures = 0;
  #reason = '';
  /** Time from which a call may try the service again; 0 while it is not down. */
  #openUntil = 0;
  #isProbed = false;

  constructor(
    private readonly name: string,
    /** Failures in a row; 0: it never counts as down. */
    private readonly after: number,
    private readonly pauseMs: number,
    private readonly log: (line: string) => void,
  ) {}

  /** Reason why no call may go out now; undefined when it may, and then its end is to be told. */
  refusal(now: number): string | undefined {
    if (this.#openUntil === 0) return undefined;
    if (this.#isProbed || now < this.#openUntil) return `${this.name} is down: ${this.#reason}`;
    this.#isProbed = true;
    return undefined;
  }

  /** A call has been answered, also with a refusal. */
  answered(): void {
    if (this.#openUntil !== 0) this.log(`${this.name} answers again`);
    this.#failures = 0;
    this.#openUntil = 0;
    this.#isProbed = false;
  }

  /** A call has got no answer. */
  failed(reason: string, now: number): void {
    this.#failures++;
    this.#reason = reason;
    if (this.#openUntil !== 0) {
      // One that was under way before says nothing new.
      if (!this.#isProbed) return;
      this.#isProbed = false;
      this.#openUntil = now + this.pauseMs;
    } else if (this.after > 0 && this.#failures >= this.after) {
      this.#openUntil = now + this.pauseMs;
      this.log(`${this.name} is down: ${reason}; it is asked again every ${this.pauseMs} ms`);
    }
  }

  /** The call that tried the service was given up. */
  givenUp(): void {
    this.#isProbed = false;
  }

  get state(): BreakerState {
    if (this.#openUntil === 0) return 'closed';
    return this.#isProbed ? 'half-open' : 'open';
  }

  /** Sentence for people; empty while the service is not down. */
  get trouble(): string {
    if (this.#openUntil === 0) return '';
    return `${this.name} is down, it is asked again every ${this.pauseMs} ms: ${this.#reason}`;
  }
}
