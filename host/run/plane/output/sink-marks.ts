/** What waits until the bytes that a sink has now have left: barriers of input, and measurements. */
import { type Acknowledgements, Barrier, type Mark } from '../acknowledge/barrier.js';

export class SinkMarks {
  /** In order; each waits until so many bytes have left. */
  readonly #waiting: { at: number; readonly mark: Mark; readonly since: number }[] = [];
  #hasGivenBack = false;

  /** The mark waits for all bytes that have come so far. */
  add(mark: Mark, came: number): void {
    this.#waiting.push({ at: came, mark, since: 0 });
  }

  /** Holds the barrier; false when it need not wait. */
  hold(barrier: Barrier, came: number): boolean {
    if (this.#hasGivenBack) return false;
    const last = this.#waiting.at(-1);
    if (last?.mark === barrier) last.at = came;
    else {
      barrier.left++;
      this.#waiting.push({ at: came, mark: barrier, since: Date.now() });
    }
    return true;
  }

  /** Since when a barrier of the source waits, epoch ms; Infinity when none does. */
  since(source: Acknowledgements): number {
    for (const { mark, since } of this.#waiting) if (mark instanceof Barrier && mark.owner === source) return since;
    return Number.POSITIVE_INFINITY;
  }

  /** Passes the marks up to this byte, which the sink has sent. */
  left(bytes: number): void {
    while (this.#waiting.length > 0 && this.#waiting[0]!.at <= bytes) this.#waiting.shift()!.mark.passed(false);
  }

  /** What still waits may not block others any more. */
  giveBack(): void {
    this.#hasGivenBack = true;
    for (const { mark } of this.#waiting.splice(0)) mark.passed(true);
  }
}
