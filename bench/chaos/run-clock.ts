/**
 * The time of a run. It stands still while a killed engine is brought back: on a busy machine that takes longer than
 * the time between two kills, and one that is killed as soon as it runs does nothing in between.
 */
import { pause } from '../process.js';

const tickMs = 10;

export class RunClock {
  #before = 0;
  #since = performance.now();
  #holds = 0;

  /** Time of the run, ms. */
  get now(): number {
    return this.#before + (this.#holds > 0 ? 0 : performance.now() - this.#since);
  }

  /** Lets the clock stand still until the work is done. */
  async during(work: () => Promise<void>): Promise<void> {
    this.#before = this.now;
    this.#holds++;
    try {
      await work();
    } finally {
      this.#holds--;
      this.#since = performance.now();
    }
  }

  /** Resolves at that time of the run. */
  async until(ms: number): Promise<void> {
    while (this.now < ms) await pause(this.#holds > 0 ? tickMs : Math.max(1, ms - this.now));
  }
}
