/**
 * Whether the other side lives. It was asked, and has some time for an answer, during which it is listened to: any byte
 * is one. While nobody reads, since sinks are full, it can't be heard, and its time does not pass.
 */
import { type Clock, systemClock, type Timer } from '../../base/time/clock.js';

export class Silence {
  #isListening = true;
  /** It was asked, and nothing has come since. */
  #isAsked = false;
  #timer: Timer | undefined;

  /** @param dead it had its time, and said nothing */
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

  /** Something came. */
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
      // On a busy machine what came meanwhile may not be read yet.
      setImmediate(() => {
        if (this.#isAsked && this.#isListening) this.dead();
      });
    });
  }
}
