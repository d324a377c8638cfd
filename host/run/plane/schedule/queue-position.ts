/** Where the rules of a throttle queue are in their source, as their checkpoints name it. */

export class QueuePosition {
  /** They have had all before that, and nothing behind it. */
  isExact = true;
  /** A checkpoint is to be taken there before the queue works on. */
  isResting = false;
  #askers: (() => void)[] = [];

  constructor(
    public position: unknown,
    /** The checkpoint had its turn. */
    private readonly goOn: () => void,
  ) {}

  /** Resolves when it is one that a checkpoint can name; undefined when it is. */
  whenExact(): Promise<void> | undefined {
    if (this.isExact) return undefined;
    return new Promise((resolve) => this.#askers.push(resolve));
  }

  /** They have had what lies before the position; undefined: that is within what was read in one go. */
  reached(position: unknown): void {
    if (position === undefined) return;
    this.position = position;
    this.isExact = true;
    if (this.#askers.length === 0) return;
    this.isResting = true;
    setImmediate(() => {
      this.isResting = false;
      this.goOn();
    });
    this.tell();
  }

  /** Nobody waits for it any more. */
  tell(): void {
    for (const call of this.#askers.splice(0)) call();
  }
}
