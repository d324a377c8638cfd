/** Input of a source that the kernel has no room for: it waits here, in order, and is tried again until it is taken. */

/** Time between two attempts, ms. */
const retryMs = 100;

export class UnfedInput {
  #parts: Uint8Array[] = [];
  #timer: NodeJS.Timeout | undefined;
  #askers: ((isTaken: boolean) => void)[] = [];
  /** Since when input has waited, epoch ms; 0 when none does. */
  since = 0;

  constructor(private readonly again: () => void) {}

  get isWaiting(): boolean {
    return this.since !== 0;
  }

  /** Copies the bytes. */
  add(bytes: Uint8Array): void {
    this.#parts.push(Uint8Array.from(bytes));
    if (this.since === 0) this.since = Date.now();
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.again();
    }, retryMs);
  }

  /** Takes out what waits, for an attempt; `settle` ends that. */
  take(): Uint8Array {
    const parts = this.#parts.splice(0);
    return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
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

  /** Forgets what waits. */
  drop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#parts = [];
    this.since = 0;
    this.#tell(false);
  }

  /** Resolves when nothing waits; false when what waited was dropped. */
  whenTaken(): Promise<boolean> {
    if (!this.isWaiting) return Promise.resolve(true);
    return new Promise((resolve) => this.#askers.push(resolve));
  }

  #tell(isTaken: boolean): void {
    for (const call of this.#askers.splice(0)) call(isTaken);
  }
}
