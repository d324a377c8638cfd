/**
 * The replay of a log in pieces of a few milliseconds, with breaks between them. In the breaks sockets, timers and
 * questions have their turns, and a rule that takes more than its share is found.
 */

/** Work between two breaks, ms. */
const workMs = 5;
/** Messages of the first piece, and the most of one. */
const firstMessages = 32;
const mostMessages = 65_536;
/** Most growth from one piece to the next. */
const growth = 4;

export class ReplayPace {
  /** Messages of the next piece. */
  most = firstMessages;
  #since = performance.now();

  /** Works on a piece of so many messages. */
  work(messages: number, call: () => void): void {
    const began = performance.now();
    call();
    const ms = performance.now() - began;
    if (ms > workMs) this.most = Math.max(1, Math.floor((messages * workMs) / ms));
    else if (messages >= this.most) this.most = Math.min(mostMessages, this.most * growth);
  }

  /** Resolves at once, or when the event loop has been to what has come meanwhile. */
  async takeBreak(): Promise<void> {
    if (performance.now() - this.#since < workMs) return;
    await new Promise((resolve) => setImmediate(resolve));
    this.#since = performance.now();
  }
}
