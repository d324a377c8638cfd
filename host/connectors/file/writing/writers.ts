/**
 * The files that a worker writes to: all rules that write to one path share one writer, so that lines are never mixed.
 */
import type { AllowedPaths } from '../../../base/files/allowed-paths.js';
import type { SinkContext } from '../../running.js';
import { FileWriter, type WriterOptions } from './writer.js';

export class Writers {
  readonly #byPath = new Map<string, { writer: FileWriter; users: number }>();
  /** Former writers, by path, that still write their waiting lines. */
  readonly #closing = new Map<string, Promise<void>>();

  /** The writers that all sinks of the worker share. */
  static of(context: SinkContext): Writers {
    return context.shared('file.writers', () => new Writers());
  }

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
    const closed = entry.writer.close();
    const settled = closed.catch(() => {});
    this.#closing.set(path, settled);
    void settled.then(() => {
      if (this.#closing.get(path) === settled) this.#closing.delete(path);
    });
    await closed;
  }

  /** Several write to the path. */
  isShared(path: string): boolean {
    return (this.#byPath.get(path)?.users ?? 0) > 1;
  }

  /** Resolves when nobody writes to the path but the present writer. */
  async alone(path: string): Promise<void> {
    await this.#closing.get(path);
  }
}
