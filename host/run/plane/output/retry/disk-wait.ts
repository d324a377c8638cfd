/** How long messages have waited on disk, and who is told. */
import { sizeText } from '../../observe/size-text.js';

/** What has waited for so long is worth a word, ms. */
const noticeMs = 1000;

export interface DiskWaitOwner {
  readonly onDisk: number;
  readonly diskBytes: number;
  warn(line: string): void;
  info(line: string): void;
}

export class DiskWait {
  /** Since when there have been some, epoch ms; 0: there are none. */
  #since = 0;
  #isTold = false;

  constructor(
    private readonly owner: DiskWaitOwner,
    private readonly folder: string | undefined,
  ) {}

  /** There are some. */
  begin(): void {
    if (this.folder === undefined) return;
    if (this.#since === 0) this.#since = Date.now();
    if (this.#isTold || this.text === '') return;
    this.#isTold = true;
    this.owner.warn(`the sink takes less than it gets: ${this.text}`);
  }

  /** To be called when some are out. */
  look(): void {
    if (this.#since === 0 || this.owner.onDisk > 0) return;
    const seconds = Math.round((Date.now() - this.#since) / 1000);
    if (this.#isTold) this.owner.info(`what waited on disk is out, after ${seconds} s`);
    this.#since = 0;
    this.#isTold = false;
  }

  /** How many, where and since when; empty while it is not worth a word. */
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
