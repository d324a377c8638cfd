/** Runs steps that concern the same key one after the other. */

export class Serial {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs the step when all earlier ones of the key are done; resolves with its result. */
  run<T>(key: string, step: () => Promise<T> | T): Promise<T> {
    const previous = this.#last.get(key) ?? Promise.resolve();
    const current = previous.then(step, step);
    const settled = current.catch(() => {});
    this.#last.set(key, settled);
    settled.then(() => {
      if (this.#last.get(key) === settled) this.#last.delete(key);
    });
    return current;
  }
}
