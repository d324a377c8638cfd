/**
 * Input of a source that waits for its turn, and the source is not read meanwhile: its rules are behind the others, or
 * a read was more than is worked on in one go (paced-input.ts).
 */
import type { RunningRule } from '../running/running.js';
import { SliceSize } from './slice-size.js';
import type { Turn, Turns } from './turns.js';

/** The source. */
export interface SlowedSource {
  readonly name: string;
  readonly users: ReadonlySet<RunningRule>;
  /** Where its input waits. */
  slowed: SlowedInput | undefined;
  /** It may not have input now: a sink is full, or the kernel. */
  readonly isBarred: boolean;
  /** Works on input now. */
  takeTurn(bytes: Uint8Array): void;
  /** Input begins to wait, or no longer does. */
  turnsWait(isWaiting: boolean): void;
}

export class SlowedInput implements Turn {
  #parts: Uint8Array[] = [];
  /** Bytes of the first part that had their turn. */
  #at = 0;
  readonly #size: SliceSize;
  #askers: (() => void)[] = [];

  constructor(
    private readonly source: SlowedSource,
    private readonly turns: Pick<Turns, 'add'>,
    now: () => number,
  ) {
    this.#size = new SliceSize(now);
  }

  get isWaiting(): boolean {
    return this.#parts.length > 0;
  }

  get isReady(): boolean {
    return this.isWaiting && !this.source.isBarred;
  }

  /** Copies the bytes. */
  add(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#parts.push(Uint8Array.from(bytes));
    if (this.#parts.length === 1) this.source.turnsWait(true);
    this.goOn();
  }

  /** It may have turns again. */
  goOn(): void {
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
    const piece = part.subarray(this.#at, this.#at + most);
    this.#at += piece.length;
    if (this.#at === part.length) this.#next();
    this.source.takeTurn(piece);
    if (!this.isWaiting) this.#empty();
    return piece.length;
  }

  /** Works all off that waits. */
  settle(): void {
    while (this.isWaiting) this.#take(Number.POSITIVE_INFINITY);
  }

  /** Resolves when nothing waits. */
  whenEmpty(): Promise<void> {
    if (!this.isWaiting) return Promise.resolve();
    return new Promise((resolve) => this.#askers.push(resolve));
  }

  /** Forgets what waits. */
  drop(): void {
    if (!this.isWaiting) return;
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
    this.source.turnsWait(false);
  }
}
