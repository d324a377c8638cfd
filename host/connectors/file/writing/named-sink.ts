/**
 * Appends lines to files whose paths a template makes. The number of open files is bounded: the one used longest ago is
 * closed when another is needed, and opened again when a message for it comes. When a path can't be opened, only the
 * messages for it are lost.
 */
import { HaumeaError, reasonOf } from '../../../base/errors.js';
import { Recent } from '../../../base/structures/recent.js';
import { MessageCutter } from '../../messages/frames.js';
import type { Sink, SinkChunk, SinkContext } from '../../running.js';
import { headedLines } from './headed.js';
import type { HttpHook } from './hook.js';
import { NamedPaths } from './named-path.js';
import { RolledWriter } from './rolled-writer.js';
import { type FileSinkConf, hookOf, makeWriter, writeChunk } from './writer-of.js';
import { type AnyWriter, Writers } from './writers.js';

/** Bytes of a block of lines; small, since each file gets few bytes. */
const blockBytes = 16 * 1024;
const lineFeed = 0x0a;

interface NamedFile {
  /** Path as the template made it. */
  readonly given: string;
  readonly path: string;
  readonly writer: AnyWriter;
  /** Header of the latest lines for the file. */
  header: Buffer | undefined;
  /** The file is among those that may be open. */
  hasTurn: boolean;
  /** Settles when the first attempt to open the file has succeeded or failed. */
  opening: Promise<void>;
}

export class NamedFilesSink implements Sink {
  readonly #paths: NamedPaths;
  readonly #writers: Writers;
  readonly #hook: HttpHook | undefined;
  /** Files by the path that the template makes. */
  readonly #files: Recent<string, NamedFile>;
  readonly #cutter = new MessageCutter();
  /** Files that gave their place to others, until their waiting lines are written; they still take messages. */
  readonly #leaving = new Map<string, NamedFile>();
  /** Ends of the files that are leaving or being closed. */
  readonly #closing = new Set<Promise<void>>();
  /** Files that wait until fewer are open. */
  readonly #turns: (() => void)[] = [];
  #open = 0;
  #isClosed = false;

  constructor(
    readonly conf: FileSinkConf,
    readonly context: SinkContext,
  ) {
    this.#paths = new NamedPaths(conf.path, context.paths);
    this.#writers = Writers.of(context);
    this.#hook = hookOf(conf, context);
    this.#files = new Recent(
      conf.maxOpenFiles,
      (path) => this.#add(path),
      (file) => this.#leave(file),
    );
  }

  get peer(): string {
    return `files ${this.conf.path}`;
  }

  /**
   * A file is opened by the first message for it; after a failure that may pass, those are tried again that it
   * concerned.
   */
  async open(): Promise<void> {
    await Promise.all([...this.#files.values()].map((file) => (file.hasTurn ? this.#try(file) : undefined)));
  }

  write(chunk: SinkChunk): void {
    const { messages, values } = chunk;
    const size = chunk.bytes.length;
    let file: NamedFile;
    try {
      const path = String(values?.path);
      file = this.#leaving.get(path) ?? this.#files.get(path);
    } catch (error) {
      const reason = `file sink: ${reasonOf(error)}`;
      let left = size;
      this.#cutter.cut(chunk, (message) => {
        left -= message.length;
        this.context.refused(message, message.length, 1, reason);
      });
      if (left > 0) this.context.accepted(left, 0);
      return;
    }
    const { writer } = file;
    if (writer instanceof RolledWriter) {
      const state = { fileType: this.conf.fileType, header: file.header };
      file.header = writeChunk(writer, chunk, this.context, this.#cutter, state);
      return;
    }
    if (this.context.hasHeaders === true) {
      for (const part of headedLines(chunk, file.header)) {
        writer.write(part.lines, part.messages, this.context, part);
        file.header = part.header;
      }
      return;
    }
    const lines = Buffer.allocUnsafe(size + messages);
    let at = 0;
    this.#cutter.cut(chunk, (message) => {
      lines.set(message, at);
      at += message.length;
      lines[at++] = lineFeed;
    });
    // The engine knows nothing of the line feeds, one for each message.
    writer.write(lines.subarray(0, at), messages, this.context, { bytes: size });
  }

  async flush(): Promise<void> {
    const files = [...this.#files.values()];
    await Promise.all([...this.#closing, ...files.map((file) => file.opening.then(() => file.writer.flush()))]);
  }

  async sync(): Promise<void> {
    // The lines of closed files are on disk already.
    await Promise.all([...this.#closing, ...[...this.#files.values()].map(({ writer }) => writer.sync())]);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const file of this.#files.values()) this.#leave(file);
    this.#files.clear();
    await Promise.all(this.#closing);
    await this.#hook?.close();
  }

  #add(given: string): NamedFile {
    const path = this.#paths.check(given);
    const around = { writers: this.#writers, paths: this.#paths.paths, hook: this.#hook, blockBytes };
    const writer = this.#writers.take(path, () => makeWriter(path, this.conf, this.context, around));
    if (this.context.isSynced === true) writer.keepSynced();
    if (this.context.hasHeaders === true) writer.keepHeaders();
    const file: NamedFile = { given, path, writer, header: undefined, hasTurn: false, opening: Promise.resolve() };
    file.opening = this.#begin(file);
    return file;
  }

  async #begin(file: NamedFile): Promise<void> {
    if (this.#open < this.conf.maxOpenFiles) this.#open++;
    else await new Promise<void>((resolve) => this.#turns.push(resolve));
    file.hasTurn = true;
    await this.#writers.alone(file.path);
    await this.#try(file).catch((error: unknown) => this.context.disconnected(reasonOf(error), true));
  }

  /** Opens the file. A wrong path loses the messages for it; rejects when a retry may help. */
  async #try(file: NamedFile): Promise<void> {
    try {
      await file.writer.open();
    } catch (error) {
      if (!(error instanceof HaumeaError && error.kind === 'config')) throw error;
      file.writer.abandon(error.message);
      // The next message for the file tries to open it again.
      if (this.#files.delete(file.given, file)) this.#leave(file);
    }
  }

  #leave(file: NamedFile): void {
    this.#leaving.set(file.given, file);
    const closed = this.#end(file).finally(() => this.#closing.delete(closed));
    this.#closing.add(closed);
  }

  /** Writes the waiting lines and closes the file; lines that can't be written now are lost. */
  async #end(file: NamedFile): Promise<void> {
    await file.opening;
    try {
      await this.#try(file);
    } catch (error) {
      if (!this.#writers.isShared(file.path)) file.writer.abandon(reasonOf(error));
    }
    this.#leaving.delete(file.given);
    await this.#writers.giveBack(file.path);
    const next = this.#turns.shift();
    if (next === undefined) this.#open--;
    else next();
  }
}
