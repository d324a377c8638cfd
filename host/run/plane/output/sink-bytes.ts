/** Bytes that wait for a sink in memory, and their bound, which shrinks while all sinks together hold much. */
import { machineBytes } from '../../../base/program/machine.js';
import type { Acknowledgements } from '../acknowledge/barrier.js';
import { InOrder } from './letters/in-order.js';
import { SinkMarks } from './sink-marks.js';

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

/** Whose bytes they are. */
export interface BytesOwner {
  /** Fewer bytes wait than before. */
  bytesLeft(): void;
}

export class SinkBytes {
  /** Bytes that came, and bytes that have left. */
  came = 0;
  left = 0;
  #counted = 0;
  #isClosed = false;
  // Most sinks never need these, and there are thousands of sinks.
  /** Set once a message was held back. */
  #order: InOrder | undefined;
  /** Set once somebody waits for bytes to leave. */
  #marks: SinkMarks | undefined;

  constructor(
    private readonly memory: SinkMemory,
    private readonly most: number,
    private readonly owner: BytesOwner,
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

  /** Bytes that have left, but for an earlier message that is held back. */
  get held(): number {
    return this.#order?.held ?? 0;
  }

  /** The oldest bytes leave, in order behind what is held back. */
  out(bytes: number): void {
    if (this.#order === undefined) this.#credit(bytes);
    else this.#order.out(bytes);
  }

  /** Holds bytes back; they leave with the call of what is returned. */
  hold(bytes: number): () => void {
    this.#order ??= new InOrder((amount) => this.#credit(amount));
    return this.#order.hold(bytes);
  }

  get marks(): SinkMarks {
    this.#marks ??= new SinkMarks();
    return this.#marks;
  }

  /** See `SinkMarks.since`. */
  blocksSince(source: Acknowledgements): number {
    return this.#marks?.since(source) ?? Number.POSITIVE_INFINITY;
  }

  #credit(bytes: number): void {
    this.left += bytes;
    this.#count(this.waiting);
    this.#marks?.left(this.left);
    this.owner.bytesLeft();
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
