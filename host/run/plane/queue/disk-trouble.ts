/** Fault of the disk of a queue: it is told once, and tried again after a while. */

/** Time until a failed disk is tried again, ms. */
const retryMs = 1000;

export interface TroubledOwner {
  warn(line: string): void;
  info(line: string): void;
}

export class DiskTrouble {
  writing = '';
  reading = '';
  /** The disk has no room for the next write. */
  isFull = false;
  #retryAt = 0;
  #retry: NodeJS.Timeout | undefined;

  /** @param again tries what failed */
  constructor(
    private readonly owner: TroubledOwner,
    private readonly again: () => void,
  ) {}

  /** The last attempt was a moment ago. */
  get isResting(): boolean {
    return performance.now() < this.#retryAt;
  }

  /** A sentence; empty when nothing is wrong. */
  get text(): string {
    if (this.writing !== '') return `can't be written: ${this.writing}`;
    return this.reading === '' ? '' : `can't be read: ${this.reading}`;
  }

  noteWriting(reason: string): void {
    if (reason !== '' && reason !== this.writing) this.owner.warn(`can't be written: ${reason}`);
    if (reason === '' && this.writing !== '') this.owner.info('is written again');
    this.writing = reason;
    if (reason !== '') this.#tryLater();
  }

  noteReading(reason: string): void {
    if (reason !== '' && reason !== this.reading) this.owner.warn(`can't be read: ${reason}`);
    this.reading = reason;
    if (reason !== '') this.#tryLater();
  }

  noteFull(isFull: boolean, whose: { readonly trouble: string }): void {
    if (isFull === this.isFull) return;
    this.isFull = isFull;
    if (isFull) this.owner.warn(whose.trouble);
    else this.owner.info('has room again');
  }

  /** The next attempt waits for nothing. */
  hurry(): void {
    this.#retryAt = 0;
  }

  close(): void {
    clearTimeout(this.#retry);
  }

  #tryLater(): void {
    this.#retryAt = performance.now() + retryMs;
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      this.#retryAt = 0;
      this.again();
    }, retryMs).unref();
  }
}
