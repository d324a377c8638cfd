/** Position of the rules of a throttle queue in their source, as their checkpoints name it. */

export class QueuePosition {
  /** The rules have had all input before the position, and none behind it. */
  isExact = true;
  /** The queue rests until a checkpoint is taken at the position. */
  isResting = false;
  #askers: (() => void)[] = [];

  constructor(
    public position: unknown,
    /** Lets the queue work on after the checkpoint had its turn. */
    private readonly goOn: () => void,
  ) {}

  /** Resolves when a checkpoint can name the position; undefined when it can already. */
  whenExact(): Promise<void> | undefined {
    if (this.isExact) return undefined;
    return new Promise((resolve) => this.#askers.push(resolve));
  }

  /** Notes that the rules have had all input before the position; undefined within one read. */
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

  /** Tells all who wait for an exact position to go on. */
  tell(): void {
    for (const call of this.#askers.splice(0)) call();
  }
}
