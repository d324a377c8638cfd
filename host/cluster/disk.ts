/**
 * Whether the disk of this node takes what is written. Checkpoints are files before they are in NATS, so rules with
 * state can't go on here without it; elsewhere they can.
 */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '../base/errors.js';

const lookMs = 1000;
/** Looks in a row after which a disk that was full counts as whole again. */
const wholeLooks = 3;
const probe = Buffer.alloc(4096, 'x');

export class Disk {
  readonly #path: string;
  #timer: NodeJS.Timeout | undefined;
  #good = wholeLooks;

  constructor(
    folder: string,
    /** Called with the reason when it takes nothing, and with none when it does again. */
    private readonly onChange: (reason: string | undefined) => void,
  ) {
    this.#path = join(folder, 'cluster-probe');
  }

  start(): void {
    this.#timer = setTimeout(() => void this.#look(), lookMs);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #look(): Promise<void> {
    const failure = await this.#write();
    const wasWhole = this.#good >= wholeLooks;
    this.#good = failure === undefined ? this.#good + 1 : 0;
    if (failure !== undefined && wasWhole) this.onChange(failure);
    if (!wasWhole && this.#good === wholeLooks) this.onChange(undefined);
    if (this.#timer !== undefined) this.start();
  }

  /** The reason when nothing can be written. */
  async #write(): Promise<string | undefined> {
    try {
      await writeFile(this.#path, probe);
      await rm(this.#path);
      return undefined;
    } catch (error) {
      return reasonOf(error);
    }
  }
}
