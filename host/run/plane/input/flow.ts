/** The connector of a source, as it is told to wait and to go on. */
export class Flow {
  #pause: () => void = () => {};
  #resume: () => void = () => {};
  #whenReady: (() => void)[] = [];

  on(pause: () => void, resume: () => void): void {
    this.#pause = pause;
    this.#resume = resume;
  }

  pause(): void {
    this.#pause();
  }

  resume(): void {
    this.release();
    this.#resume();
  }

  /** Resolves when it is to go on. */
  ready(): Promise<void> {
    return new Promise((resolve) => this.#whenReady.push(resolve));
  }

  /** Nobody waits any more. */
  release(): void {
    for (const call of this.#whenReady.splice(0)) call();
  }
}
