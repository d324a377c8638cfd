/**
 * Input of a source that waits for its turn, and the source is not read meanwhile: its rules are throttled, or a read
 * was more than is worked on in one go (paced-stage.ts).
 */
import type { Input } from '../stage/input.js';
import { PassingStage } from '../stage/stage.js';
import type { FairQueue, Turn } from './fair-queue.js';
import { SliceSize } from './slice-size.js';

export class TurnQueue extends PassingStage<Input> implements Turn {
  #parts: Uint8Array[] = [];
  /** Number of bytes of the first part that had their turn. */
  #at = 0;
  readonly #size: SliceSize;
  #askers: (() => void)[] = [];

  /**
   * @param isBlocked it may have no turn now: a sink is full, or what comes after the queue
   * @param waits input begins to wait, or no longer does
   */
  constructor(
    private readonly turns: Pick<FairQueue, 'add'>,
    now: () => number,
    private readonly isBlocked: () => boolean,
    private readonly waits: (isWaiting: boolean) => void,
  ) {
    super();
    this.#size = new SliceSize(now);
  }

  override get isFull(): boolean {
    return this.#parts.length > 0;
  }

  get isReady(): boolean {
    return this.isFull && !this.isBlocked();
  }

  /** Copies the bytes. */
  write({ bytes }: Pick<Input, 'bytes'>): boolean {
    if (bytes.length === 0) return true;
    this.#parts.push(Uint8Array.from(bytes));
    if (this.#parts.length === 1) this.waits(true);
    this.resume();
    return true;
  }

  override resume(): void {
    if (this.isReady) this.turns.add(this);
  }

  work(ms: number): void {
    this.#size.spend(
      ms,
      (most) => this.#take(most),
      () => this.isReady,
    );
  }

  #take(most: number): number {
    const part = this.#parts[0]!;
    const bytes = part.subarray(this.#at, this.#at + most);
    this.#at += bytes.length;
    const isLast = this.#at === part.length;
    if (isLast) this.#next();
    this.next.write({ bytes, isLast, hasTurn: true });
    if (!this.isFull) this.#empty();
    return bytes.length;
  }

  override drain(): void {
    while (this.isFull) this.#take(Number.POSITIVE_INFINITY);
  }

  /** Resolves when nothing waits. */
  whenEmpty(): Promise<void> {
    if (!this.isFull) return Promise.resolve();
    return new Promise((resolve) => this.#askers.push(resolve));
  }

  override close(): void {
    if (!this.isFull) return;
    this.#parts = [];
    this.#at = 0;
    this.#empty();
  }

  #next(): void {
    this.#parts.shift();
    this.#at = 0;
  }

  #empty(): void {
    for (const call of this.#askers.splice(0)) call();
    this.waits(false);
  }
}
