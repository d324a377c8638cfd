/** Writes messages to a file. */
import { MessageCutter } from '../../messages/frames.js';
import type { Sink, SinkChunk, SinkContext } from '../../running.js';
import { headedLines } from './headed.js';
import type { HttpHook } from './hook.js';
import { RolledWriter } from './rolled-writer.js';
import type { FileEnd } from './target.js';
import { type FileSinkConf, hookOf, makeWriter, writeChunk } from './writer-of.js';
import { type AnyWriter, Writers } from './writers.js';

function isEnd(position: unknown): position is FileEnd {
  const { dev, ino, size } = (position ?? {}) as Partial<FileEnd>;
  return typeof dev === 'number' && typeof ino === 'number' && typeof size === 'number' && size >= 0;
}

export class FileSink implements Sink {
  readonly #path: string;
  readonly #writers: Writers;
  readonly #writer: AnyWriter;
  readonly #hook: HttpHook | undefined;
  readonly #cutter = new MessageCutter();
  /** Header of the latest lines. */
  #header: Buffer | undefined;
  #isClosed = false;

  constructor(
    readonly conf: FileSinkConf,
    readonly context: SinkContext,
  ) {
    this.#path = context.paths.check(conf.path, 'write');
    this.#writers = Writers.of(context);
    this.#hook = hookOf(conf, context);
    const around = { writers: this.#writers, paths: context.paths, hook: this.#hook };
    this.#writer = this.#writers.take(this.#path, () => makeWriter(this.#path, conf, context, around));
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
    if (this.#writer instanceof RolledWriter) {
      const state = { fileType: this.conf.fileType, header: this.#header };
      this.#header = writeChunk(this.#writer, chunk, context, this.#cutter, state);
      return;
    }
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
    await this.#hook?.close();
  }
}
