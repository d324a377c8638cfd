/** Packet ids that a broker has freed, until the log has them; nobody is told before. */
import { freedMark } from './known-messages.js';

export interface FreedMark {
  readonly bytes: Buffer;
  /** To be called when they are in the log. */
  kept(): void;
}

export class FreedIds {
  #ids: number[] = [];
  #kept: (() => void)[] = [];

  get isEmpty(): boolean {
    return this.#ids.length === 0;
  }

  add(id: number, kept: () => void): void {
    this.#ids.push(id);
    this.#kept.push(kept);
  }

  /** Takes all waiting ids, as one entry. */
  take(): FreedMark {
    const kept = this.#kept;
    const bytes = freedMark(this.#ids);
    this.#ids = [];
    this.#kept = [];
    return {
      bytes,
      kept: () => {
        for (const call of kept) call();
      },
    };
  }
}
