/** Appends lines to a file. */
import type { Sink, SinkChunk, SinkContext } from '../../running.js';
import { headedLines } from './headed.js';
import type { FileEnd } from './target.js';
import type { FileWriter } from './writer.js';
import { Writers } from './writers.js';

export interface FileSinkConf {
  path: string;
  rollingSize: number;
  rollingNamePattern: string;
  maxOpenFiles: number;
}

function isEnd(position: unknown): position is FileEnd {
  const { dev, ino, size } = (position ?? {}) as Partial<FileEnd>;
  return typeof dev === 'number' && typeof ino === 'number' && typeof size === 'number' && size >= 0;
}

export class FileSink implements Sink {
  readonly #path: string;
  readonly #writers: Writers;
  readonly #writer: FileWriter;
  /** Header of the latest lines. */
  #header: Buffer | undefined;
  #isClosed = false;

  constructor(
    conf: FileSinkConf,
    readonly context: SinkContext,
  ) {
    this.#path = context.paths.check(conf.path, 'write');
    this.#writers = Writers.of(context);
    this.#writer = this.#writers.take(this.#path, conf, context.paths);
    if (context.isSynced === true) this.#writer.keepSynced();
    if (context.hasHeaders === true) this.#writer.keepHeaders();
  }

  get peer(): string {
    return `file ${this.#path}`;
  }

  open(): Promise<void> {
    return this.#writer.open();
  }

  write(chunk: SinkChunk): void {
    const { context } = this;
    if (context.hasHeaders !== true) {
      this.#writer.write(chunk.bytes, chunk.messages, context);
      return;
    }
    for (const { lines, messages, header, bytes } of headedLines(chunk, this.#header)) {
      this.#writer.write(lines, messages, context, { header, bytes });
      this.#header = header;
    }
  }

  flush(): Promise<void> {
    return this.#writer.flush();
  }

  position(): FileEnd | undefined {
    // Lines of other sinks in the same file must not be cut back.
    return this.#writers.isShared(this.#path) ? undefined : this.#writer.end;
  }

  cutBack(position: unknown): void {
    const refused = (reason: string) =>
      this.context.log.warn(`${this.#path} is not cut back to the checkpoint, lines may come twice: ${reason}`);
    if (this.#writers.isShared(this.#path)) refused('other rules write to it');
    else if (!isEnd(position)) refused('the checkpoint has no place in it');
    else this.#writer.cutAtOpen(position, refused);
  }

  sync(): Promise<void> {
    return this.#writer.sync();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#writers.giveBack(this.#path);
  }
}
