/**
 * When messages that wait for their acknowledgement go to the log. A broker sends no more than its window of
 * unacknowledged messages (20 with mosquitto) and throws away what it can't queue meanwhile: whoever waits until the
 * window is used up has it stand still in each round. So they are written when half of it is used, and those that come
 * meanwhile right after that.
 *
 * A large window needs few writes, or none where checkpoints come sooner. How large it is shows only when it is used:
 * now and then twice as many may wait, less often each time that the sender fell silent over it. The same is done to
 * find the rate of a network (probing with backoff), with the bound as the window and silence as the loss.
 */
import { type Clock, systemClock, type Timer } from '../../../../base/time/clock.js';

/** Half of the smallest window that brokers have by themselves. */
const usualBound = 10;
/** Number of messages that are written in any case. */
const maxBound = 10_000;
/** Silence of a sender whose window is used up, and silence of one that is most likely just slow, ms. */
const silenceMs = 25;
const longSilenceMs = 1000;
/** Time after acknowledgements within which a sender goes on that has waited for them, ms. */
const answerMs = 100;
/** Number of times that the bound is reached before a larger one is tried: the first time, and at most. */
const firstTrial = 4;
const rarestTrial = 512;

export class LogPace {
  /** Most messages that wait before they are written. */
  #bound = usualBound;
  /** Number of times that the bound was reached since a larger one was tried. */
  #reached = 0;
  #trialAfter = firstTrial;
  /** Messages that waited when the sender fell silent, until it is known whether it waited for them. */
  #silentAt = 0;
  #writtenAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;

  /**
   * @param waiting messages that are not acknowledged
   * @param write writes what waits, and once more what comes meanwhile when it is called again
   */
  constructor(
    private readonly waiting: () => number,
    private readonly write: () => void,
    private readonly clock: Clock = systemClock,
  ) {}

  /** Counts messages that arrived and are processed. */
  worked(messages: number): void {
    this.#timer?.close();
    const waiting = this.waiting();
    if (this.#silentAt > 0) this.#wentOn(waiting <= messages);
    if (waiting === 0) return;
    if (waiting >= this.#bound && this.#mayWrite(waiting)) this.write();
    const patienceMs = waiting >= Math.min(usualBound, this.#bound) ? silenceMs : longSilenceMs;
    this.#timer = this.clock.after(patienceMs, () => this.#silent());
  }

  /** The bound is reached; false when the sender may show that it has a larger window. */
  #mayWrite(waiting: number): boolean {
    this.#reached++;
    if (this.#reached <= this.#trialAfter || this.#bound >= maxBound) return true;
    if (waiting < 2 * this.#bound) return false;
    this.#bound = Math.min(maxBound, 2 * this.#bound);
    this.#reached = 0;
    return true;
  }

  #silent(): void {
    this.#silentAt = this.waiting();
    if (this.#silentAt > 0) this.write();
  }

  /** Something is in the log. */
  written(): void {
    this.#writtenAt = this.clock.now();
  }

  #wentOn(hasAll: boolean): void {
    if (hasAll && this.clock.now() - this.#writtenAt <= answerMs) {
      this.#bound = Math.max(1, Math.min(this.#bound, Math.floor(this.#silentAt / 2)));
      this.#trialAfter = Math.min(rarestTrial, 2 * this.#trialAfter);
    }
    this.#reached = 0;
    this.#silentAt = 0;
  }

  close(): void {
    this.#timer?.close();
  }
}
