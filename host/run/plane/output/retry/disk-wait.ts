/** Tracks how long messages have waited on disk, for the log and the status. */
import { sizeText } from '../../observe/size-text.js';

/** Time that messages wait on disk before the log and the status tell of them, ms. */
const noticeMs = 1000;

export interface DiskWaitOwner {
  readonly onDisk: number;
  readonly diskBytes: number;
  warn(line: string): void;
  info(line: string): void;
}

export class DiskWait {
  /** Time since which messages wait on disk, epoch ms; 0 while none do. */
  #since = 0;
  #isTold = false;

  constructor(
    private readonly owner: DiskWaitOwner,
    private readonly folder: string | undefined,
  ) {}

  /** To be called when messages are on disk. */
  begin(): void {
    if (this.folder === undefined) return;
    if (this.#since === 0) this.#since = Date.now();
    if (this.#isTold || this.text === '') return;
    this.#isTold = true;
    this.owner.warn(`the sink takes less than it gets: ${this.text}`);
  }

  /** To be called when messages may have left the disk. */
  look(): void {
    if (this.#since === 0 || this.owner.onDisk > 0) return;
    const seconds = Math.round((Date.now() - this.#since) / 1000);
    if (this.#isTold) this.owner.info(`what waited on disk is out, after ${seconds} s`);
    this.#since = 0;
    this.#isTold = false;
  }

  /** Sentence with the number of messages, their folder and how long they have waited; empty before `noticeMs`. */
  get text(): string {
    if (this.#since === 0 || Date.now() - this.#since < noticeMs) return '';
    const since = new Date(this.#since).toISOString();
    const { onDisk, diskBytes } = this.owner;
    return (
      `${onDisk.toLocaleString('en')} messages wait on disk since ${since} (${sizeText(diskBytes)} in ` +
      `${this.folder})`
    );
  }
}
