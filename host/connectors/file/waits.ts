/** What a source waits for as it reads, until it is to stop. */
export class Waits {
  #stop: (() => void) | undefined;

  /** @param isStopped nothing is waited for any more */
  constructor(readonly isStopped: () => boolean) {}

  /** Ends what is waited for; `isStopped` holds from now on. */
  stop(): void {
    this.#stop?.();
  }

  async until(event: Promise<void>): Promise<void> {
    await Promise.race([event, new Promise<void>((resolve) => this.#onStop(resolve))]);
  }

  async pause(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#onStop(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #onStop(call: () => void): void {
    if (this.isStopped()) call();
    else this.#stop = call;
  }
}
