/**
 * The time up to which this process may work for rules that it holds by lease, shared by its threads. A process that
 * was stopped for a while must not go on where it was: others may run its rules by then.
 */
const bytes = Float64Array.BYTES_PER_ELEMENT;

/** Milliseconds of the monotonic clock, the same in all threads of the process. */
const [seconds, nanos] = process.hrtime();
const offset = seconds * 1000 + nanos / 1e6 - performance.now();

export function monotonicMs(): number {
  return performance.now() + offset;
}

export class Fence {
  readonly #until: Float64Array;

  constructor(memory: SharedArrayBuffer) {
    this.#until = new Float64Array(memory);
  }

  static allocate(): SharedArrayBuffer {
    const memory = new SharedArrayBuffer(bytes);
    new Float64Array(memory)[0] = Number.POSITIVE_INFINITY;
    return memory;
  }

  /** Work may go on until then, in time of `monotonicMs`. */
  set until(ms: number) {
    this.#until[0] = ms;
  }

  get isPast(): boolean {
    return monotonicMs() > (this.#until[0] as number);
  }
}
