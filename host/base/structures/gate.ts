/** Lets many pass together, or one alone: changes of single resources, and imports that replace them all. */

export class Gate {
  /** Steps under way that pass together. */
  #count = 0;
  /** Ends of the steps that pass alone, one after the other; undefined when nobody does or waits to. */
  #alone: Promise<unknown> | undefined;
  #onEmpty: (() => void) | undefined;

  /** Runs a step together with others of its kind, after those that pass alone and came before. */
  async shared<T>(step: () => Promise<T>): Promise<T> {
    while (this.#alone !== undefined) await this.#alone;
    this.#count++;
    try {
      return await step();
    } finally {
      this.#count--;
      if (this.#count === 0) this.#onEmpty?.();
    }
  }

  /** Runs a step while no other runs; those that come later wait for it. */
  exclusive<T>(step: () => Promise<T>): Promise<T> {
    const previous = this.#alone ?? Promise.resolve();
    const result = previous.then(async () => {
      while (this.#count > 0) {
        await new Promise<void>((resolve) => {
          this.#onEmpty = resolve;
        });
        this.#onEmpty = undefined;
      }
      return step();
    });
    const settled = result.then(
      () => {},
      () => {},
    );
    this.#alone = settled;
    settled.then(() => {
      if (this.#alone === settled) this.#alone = undefined;
    });
    return result;
  }
}
