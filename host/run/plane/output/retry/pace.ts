/**
 * Pace of messages that are sent again: one an interval, and one more for each new message, so that they decrease.
 * Without an interval, and while none wait, they go as they come.
 */
import { systemClock, type Timer } from '../../../../base/time/clock.js';

export class Pace {
  /** Messages that may be sent again now; Infinity while there is no pace. */
  allowed = Number.POSITIVE_INFINITY;
  #timer: Timer | undefined;
  #isStopped = false;

  /** @param due called when one more may go */
  constructor(
    private readonly intervalMs: number,
    private readonly due: () => void,
  ) {}

  get isOn(): boolean {
    return this.allowed !== Number.POSITIVE_INFINITY;
  }

  get maySend(): boolean {
    return !this.isOn || this.allowed >= 1;
  }

  /** @param keepsBack messages wait that are to be paced */
  set(hasWaiting: boolean, keepsBack: boolean, isAway: boolean): void {
    if (this.intervalMs === 0 || this.#isStopped) return;
    if (keepsBack && !this.isOn) this.allowed = 0;
    if (!hasWaiting && !isAway) this.allowed = Number.POSITIVE_INFINITY;
    if (this.isOn && !isAway) {
      this.#timer ??= systemClock.every(this.intervalMs, () => {
        this.allowed = Math.max(this.allowed, 1);
        this.due();
      });
    } else {
      this.#timer?.close();
      this.#timer = undefined;
    }
  }

  /** Stands still; `set` begins anew. */
  pause(): void {
    this.#timer?.close();
  }

  stop(): void {
    this.#isStopped = true;
    this.pause();
  }
}
