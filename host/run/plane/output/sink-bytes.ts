/** Bytes that wait for a sink in memory, and their bound, which shrinks while all sinks together hold much. */
import { machineBytes } from '../../../base/program/machine.js';

/** Bound of all sinks: this part of the machine's memory, and at most these bytes. */
const partOfMachine = 1 / 8;
const mostBytes = 1024 * 1024 * 1024;
/** Bytes that each sink may hold, however many sinks there are. */
const leastBytes = 64 * 1024;

/** Bytes that all sinks of a data plane hold. Thousands of stuck sinks must not take the memory of the machine. */
export class SinkMemory {
  #bytes = 0;

  constructor(private readonly maxBytes = Math.min(mostBytes, machineBytes() * partOfMachine)) {}

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Present bound of a sink whose own bound is `bytes`. */
  limitOf(bytes: number): number {
    return this.#bytes > this.maxBytes ? Math.min(bytes, leastBytes) : bytes;
  }
}

export class SinkBytes {
  /** Bytes that came, and bytes that have left. */
  came = 0;
  left = 0;
  #counted = 0;
  #isClosed = false;

  constructor(
    private readonly memory: SinkMemory,
    private readonly most: number,
  ) {}

  get waiting(): number {
    return this.came - this.left;
  }

  /** Bytes that may wait now. */
  get limit(): number {
    return this.memory.limitOf(this.most);
  }

  add(bytes: number): void {
    this.came += bytes;
    this.#count(this.waiting);
  }

  credit(bytes: number): void {
    this.left += bytes;
    this.#count(this.waiting);
  }

  /** Takes the waiting bytes out of the sum of all sinks, for good. */
  close(): void {
    this.#count(0);
    this.#isClosed = true;
  }

  #count(bytes: number): void {
    if (this.#isClosed) return;
    this.memory.add(bytes - this.#counted);
    this.#counted = bytes;
  }
}
