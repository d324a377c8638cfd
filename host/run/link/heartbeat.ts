/**
 * A few numbers in shared memory by which the supervisor sees that a worker lives and whose work it is at.
 *
 *     word 0  beats: of a timer, and of each piece of work; stands still when the worker hangs in one of these
 *     word 1  run number of a rule the worker is working for, 0 none
 *     word 2  how many rules share that work: with 1 the rule is known to be the cause of a hang
 */
import type { Fence } from './fence.js';

const words = 3;

/** The run that a data plane was working for, and how many rules shared that work. */
export interface AtWork {
  readonly run: number;
  readonly sharers: number;
}

export class Heartbeat {
  readonly #words: Int32Array;

  constructor(memory: SharedArrayBuffer) {
    this.#words = new Int32Array(memory);
  }

  static allocate(): SharedArrayBuffer {
    return new SharedArrayBuffer(words * Int32Array.BYTES_PER_ELEMENT);
  }

  beat(): void {
    Atomics.add(this.#words, 0, 1);
  }

  /** Says whose work begins. */
  enter(run: number, sharers: number): void {
    this.#words[1] = run;
    this.#words[2] = sharers;
  }

  /** Work ends: who has one piece of it after the other is slow, and not hung. */
  leave(): void {
    this.#words[1] = 0;
    this.beat();
  }

  get beats(): number {
    return Atomics.load(this.#words, 0);
  }

  /** Run at work, and how many rules share the work; undefined between two pieces of work. */
  get atWork(): AtWork | undefined {
    const run = Atomics.load(this.#words, 1);
    return run === 0 ? undefined : { run, sharers: Atomics.load(this.#words, 2) };
  }
}

/** Of a thread whose rules are held by lease: once that has run out, it ends before the next piece of work. */
export class FencedHeartbeat extends Heartbeat {
  constructor(
    memory: SharedArrayBuffer,
    private readonly fence: Fence,
  ) {
    super(memory);
  }

  override beat(): void {
    this.#check();
    super.beat();
  }

  override enter(run: number, sharers: number): void {
    this.#check();
    super.enter(run, sharers);
  }

  #check(): void {
    // Nothing of it may go on, not even what would end in order: another node may be at work.
    if (this.fence.isPast) process.exit(1);
  }
}
