/**
 * Number of the messages of a log whose output is out, whoever keeps the input: rules without checkpoints need only the
 * others.
 */
import { join } from 'node:path';
import { ReadMark } from '../../queue/read-mark.js';
import { type Entry, isOut } from './log-host.js';

/** Name of its file beside the pages. */
const name = 'out';

export class OutMark {
  /** Number of the first message whose output is not out. */
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

  /** To be called when the first entry was removed, which was out. */
  shifted(): void {
    this.#entries--;
  }

  close(): Promise<void> {
    return this.#mark.close();
  }
}
