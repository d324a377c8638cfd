/** Sends messages at a rate, no faster than the broker takes them. */

const tickMs = 20;
/** A broker delivers so many messages at once and queues the rest without bound: the sender waits for it instead. */
const maxInDelivery = 100;
/** Timers and sockets have their turn after so many messages. */
const maxAtOnce = 1000;

/** Publishes one message and calls back, at once or later, when it was delivered. */
export type PublishNext = (delivered: () => void) => void;

export class Sender {
  /** Messages published so far. */
  sent = 0;
  readonly #started = performance.now();
  readonly #ticks = setInterval(() => this.#send(), tickMs);
  #inDelivery = 0;
  #isScheduled = false;
  #isStopped = false;

  /** Starts to send `rate` messages a second. */
  constructor(
    private readonly rate: number,
    private readonly publishNext: PublishNext,
  ) {}

  /** Sends nothing more; what is under way may still be delivered. */
  stop(): void {
    clearInterval(this.#ticks);
    this.#isStopped = true;
  }

  #send(): void {
    for (let i = 0; this.#isDue(); i++) {
      if (i === maxAtOnce) {
        this.#sendSoon();
        return;
      }
      this.sent++;
      this.#inDelivery++;
      this.publishNext(() => {
        if (this.#inDelivery-- === maxInDelivery) this.#sendSoon();
      });
    }
  }

  #isDue(): boolean {
    return this.#inDelivery < maxInDelivery && this.sent < ((performance.now() - this.#started) / 1000) * this.rate - 1;
  }

  #sendSoon(): void {
    if (this.#isScheduled || this.#isStopped) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      if (!this.#isStopped) this.#send();
    });
  }
}
