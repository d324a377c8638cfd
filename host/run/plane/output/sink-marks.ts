/** Marks that wait until all earlier bytes of a sink have left: barriers of input, and measurements. */
import { type Histogram, noteLatency } from '../../../../kernels/values/histogram.js';
import { type Acknowledgements, Barrier, type Mark } from '../acknowledge/barrier.js';

export class SinkMarks {
  /** Waiting marks in order, each with the number of bytes that have to leave first. */
  readonly #waiting: { at: number; readonly mark: Mark; readonly since: number }[] = [];
  #hasGivenBack = false;

  /** Lets the mark wait for all bytes that have come so far. */
  add(mark: Mark, came: number): void {
    this.#waiting.push({ at: came, mark, since: 0 });
  }

  /** Notes the time until all bytes that have come so far have left. */
  measure(latencies: Histogram, came: number): void {
    const began = performance.now();
    const passed = (isLost: boolean) => {
      if (!isLost) noteLatency(latencies, (performance.now() - began) * 1000);
    };
    this.add({ passed }, came);
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

  /** Time since which a barrier of the source waits, epoch ms; Infinity when none does. */
  since(source: Acknowledgements): number {
    for (const { mark, since } of this.#waiting) if (mark instanceof Barrier && mark.owner === source) return since;
    return Number.POSITIVE_INFINITY;
  }

  /** Passes the marks that waited for the first `bytes` bytes, which have left the sink. */
  left(bytes: number): void {
    while (this.#waiting.length > 0 && this.#waiting[0]!.at <= bytes) this.#waiting.shift()!.mark.passed(false);
  }

  /** Passes all waiting marks as lost, so that they block nobody any more. */
  giveBack(): void {
    this.#hasGivenBack = true;
    for (const { mark } of this.#waiting.splice(0)) mark.passed(true);
  }
}
