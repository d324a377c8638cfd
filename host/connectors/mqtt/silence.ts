/**
 * Tells whether the other side is alive. After a question it has some time to answer, and any byte counts as an answer.
 * While the source does not read because sinks are full, no answer can arrive, so the time stands still.
 */
import { type Clock, systemClock, type Timer } from '../../base/time/clock.js';

export class Silence {
  #isListening = true;
  /** The other side was asked, and nothing has come since. */
  #isAsked = false;
  #timer: Timer | undefined;

  /** @param dead called when the time has passed without an answer */
  constructor(
    private readonly patienceMs: number,
    private readonly dead: () => void,
    private readonly clock: Clock = systemClock,
  ) {}

  asked(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    this.#wait();
  }

  /** Notes that bytes have come. */
  broken(): void {
    if (!this.#isAsked) return;
    this.#isAsked = false;
    this.#timer?.close();
  }

  /** Whether somebody reads from now on. */
  listens(isListening: boolean): void {
    if (isListening === this.#isListening) return;
    this.#isListening = isListening;
    if (!this.#isAsked) return;
    this.#timer?.close();
    if (isListening) this.#wait();
  }

  close(): void {
    this.#isAsked = false;
    this.#timer?.close();
  }

  #wait(): void {
    if (!this.#isListening) return;
    this.#timer = this.clock.after(this.patienceMs, () => {
      // On a busy machine an answer may have arrived, and not be read yet.
      setImmediate(() => {
        if (this.#isAsked && this.#isListening) this.dead();
      });
    });
  }
}
