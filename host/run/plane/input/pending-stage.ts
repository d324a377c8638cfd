/** Input of a source that the kernel has no room for: it waits here, in order, and is tried again until it is taken. */
import type { Input } from '../stage/input.js';
import { PassingStage } from '../stage/stage.js';

/** Time between two attempts, ms. */
const retryMs = 100;

export class PendingStage extends PassingStage<Input> {
  #parts: Uint8Array[] = [];
  #timer: NodeJS.Timeout | undefined;
  #askers: ((isTaken: boolean) => void)[] = [];
  /** Since when input has waited, epoch ms; 0 when none does. */
  since = 0;

  /**
   * @param again begins an attempt
   * @param blocked input begins to wait
   */
  constructor(
    private readonly again: () => void,
    private readonly blocked: () => void,
  ) {
    super();
  }

  override get isFull(): boolean {
    return this.since !== 0;
  }

  write(input: Input): boolean {
    if (!this.isFull) return this.next.write(input);
    this.keep(input.bytes);
    return true;
  }

  /** Takes what the kernel had no room for. Copies the bytes. */
  keep(bytes: Uint8Array): void {
    this.#parts.push(Uint8Array.from(bytes));
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.again();
    }, retryMs);
    if (this.since !== 0) return;
    this.since = Date.now();
    this.blocked();
  }

  /** Gives the kernel what waits; with `maySkip` one message may be left out. `settle` ends the attempt. */
  retry(isLast: boolean, maySkip: boolean): void {
    const parts = this.#parts.splice(0);
    const bytes = parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
    this.next.write({ bytes, isLast, maySkip });
  }

  /** Returns whether nothing waits any more, and tells so those who asked. */
  settle(): boolean {
    if (this.#parts.length > 0) return false;
    this.since = 0;
    this.#tell(true);
    return true;
  }

  /** Tells those who asked that what waited was not taken. */
  refuse(): void {
    this.#tell(false);
  }

  override close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#parts = [];
    this.since = 0;
    this.#tell(false);
  }

  /** Resolves when nothing waits; false when what waited was dropped. */
  whenTaken(): Promise<boolean> {
    if (!this.isFull) return Promise.resolve(true);
    return new Promise((resolve) => this.#askers.push(resolve));
  }

  #tell(isTaken: boolean): void {
    for (const call of this.#askers.splice(0)) call(isTaken);
  }
}
