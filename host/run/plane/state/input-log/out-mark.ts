/** How much of a log is out, whoever keeps the input itself: rules that keep nothing need only what is not. */
import { join } from 'node:path';
import { ReadMark } from '../../queue/read-mark.js';
import { type Entry, isOut } from './log-host.js';

/** Beside the pages. */
const name = 'out';

export class OutMark {
  /** Number behind the last message before which all are out. */
  number = 0;
  /** Number of entries at the front that were sent. */
  #entries = 0;
  readonly #mark: ReadMark;

  constructor(folder: string) {
    this.#mark = new ReadMark(join(folder, name));
  }

  async read(): Promise<void> {
    this.number = await this.#mark.read();
  }

  note(entries: readonly Entry[]): void {
    for (let entry = entries[this.#entries]; entry && isOut(entry); entry = entries[this.#entries]) {
      this.#entries++;
      this.number = Math.max(this.number, entry.end);
      this.#mark.set(this.number);
    }
  }

  /** The first entry, which was out, has gone. */
  shifted(): void {
    this.#entries--;
  }

  close(): Promise<void> {
    return this.#mark.close();
  }
}
