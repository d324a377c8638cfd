/** A lock for steps that run together or alone: changes of single resources, and imports that replace them all. */

export class Gate {
  /** Number of shared steps under way. */
  #count = 0;
  /** Settles when the last exclusive step has ended; undefined when none runs or waits. */
  #alone: Promise<unknown> | undefined;
  #onEmpty: (() => void) | undefined;

  /** Runs a step together with other shared ones, after all exclusive steps that came before. */
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

  /** Runs a step while no other runs; later steps wait for it. */
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
