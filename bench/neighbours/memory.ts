/** Resident memory of the engine while something is wrong. */
import type { EngineUnderTest } from '../engine.js';

const sampleMs = 500;

export class Memory {
  #samples: number[] = [];
  #last = Number.NaN;
  #timer: NodeJS.Timeout | undefined;

  constructor(readonly engine: EngineUnderTest) {}

  /** The trouble begins. */
  begin(): void {
    const look = () => void this.#samples.push(this.engine.memory().now);
    look();
    this.#timer = setInterval(look, sampleMs).unref();
  }

  /** The trouble ends; what comes until `end` counts for the peak. */
  mark(): void {
    this.#last = this.engine.memory().now;
  }

  /** At the begin, at most, when the trouble ended. */
  end(): [number, number, number] {
    clearInterval(this.#timer);
    if (Number.isNaN(this.#last)) this.mark();
    return [this.#samples[0] ?? Number.NaN, Math.max(...this.#samples), this.#last];
  }
}
