/** Waits of a source while it reads, which end early when the source is to stop. */
export class Waits {
  #stop: (() => void) | undefined;

  /** @param isStopped nothing is waited for any more */
  constructor(readonly isStopped: () => boolean) {}

  /** Ends the wait under way; `isStopped` has to be true from now on. */
  stop(): void {
    this.#stop?.();
  }

  async until(event: Promise<void>): Promise<void> {
    await Promise.race([event, new Promise<void>((resolve) => this.#onStop(resolve))]);
  }

  /** @param onWait gets what ends the wait early */
  async pause(ms: number, onWait: (end: () => void) => void = () => {}): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      const end = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#onStop(end);
      onWait(end);
    });
  }

  #onStop(call: () => void): void {
    if (this.isStopped()) call();
    else this.#stop = call;
  }
}
