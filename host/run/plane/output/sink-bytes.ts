/**
 * Bytes that wait for a sink in memory, and what may: less for each while all sinks of the data plane together have
 * much.
 */
import { machineBytes } from '../../../base/program/machine.js';

/** A part of the machine's memory, and at most so much. */
const partOfMachine = 1 / 8;
const mostBytes = 1024 * 1024 * 1024;
/** What each sink may have however many there are. */
const leastBytes = 64 * 1024;

/** What all sinks of a data plane have. Thousands that are stuck must not take the memory of the machine. */
export class SinkMemory {
  #bytes = 0;

  constructor(private readonly maxBytes = Math.min(mostBytes, machineBytes() * partOfMachine)) {}

  add(bytes: number): void {
    this.#bytes += bytes;
  }

  /** What a sink may have now that may have so much by itself. */
  limitOf(bytes: number): number {
    return this.#bytes > this.maxBytes ? Math.min(bytes, leastBytes) : bytes;
  }
}

export class SinkBytes {
  /** All that came, and all that has left. */
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

  /** So much may wait now. */
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

  /** It waits for nobody any more. */
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
