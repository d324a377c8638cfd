/** Appends lines to a file. All rules that write to one path share one writer, so that lines are never mixed. */
import type { AllowedPaths } from '../../base/allowed-paths.js';
import type { OutputChunk, Sink, SinkContext } from '../running.js';
import { FileWriter, type WriterOptions } from './writer.js';

export interface FileSinkConf {
  path: string;
  rollingSize: number;
  rollingNamePattern: string;
}

/** Writers of the worker by path. */
class Writers {
  readonly #byPath = new Map<string, { writer: FileWriter; users: number }>();

  take(path: string, options: WriterOptions, paths: AllowedPaths): FileWriter {
    let entry = this.#byPath.get(path);
    if (entry === undefined) {
      entry = { writer: new FileWriter(path, options, paths), users: 0 };
      this.#byPath.set(path, entry);
    }
    entry.users++;
    return entry.writer;
  }

  async giveBack(path: string): Promise<void> {
    const entry = this.#byPath.get(path);
    if (entry === undefined || --entry.users > 0) return;
    this.#byPath.delete(path);
    await entry.writer.close();
  }
}

export class FileSink implements Sink {
  readonly #path: string;
  readonly #writers: Writers;
  readonly #writer: FileWriter;
  #isClosed = false;

  constructor(
    conf: FileSinkConf,
    readonly context: SinkContext,
  ) {
    this.#path = context.paths.check(conf.path, 'write');
    this.#writers = context.shared('file.writers', () => new Writers());
    this.#writer = this.#writers.take(this.#path, conf, context.paths);
  }

  get peer(): string {
    return `file ${this.#path}`;
  }

  open(): Promise<void> {
    return this.#writer.open();
  }

  write(chunk: OutputChunk): void {
    this.#writer.write(chunk.bytes, chunk.messages, this.context);
  }

  flush(): Promise<void> {
    return this.#writer.flush();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#writers.giveBack(this.#path);
  }
}
