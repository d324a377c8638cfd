/**
 * The files that a worker writes to: all rules that write to one path share one writer, so that lines are never mixed.
 */
import type { SinkContext } from '../../running.js';
import type { Finished } from './rolled-file.js';
import type { RolledWriter } from './rolled-writer.js';
import type { FileWriter } from './writer.js';

export type AnyWriter = FileWriter | RolledWriter;

/** Completed files whose ends are remembered. */
const mostFinished = 10_000;

export class Writers {
  readonly #byPath = new Map<string, { writer: AnyWriter; users: number }>();
  /** Former writers, by path, that still write their waiting lines. */
  readonly #closing = new Map<string, Promise<void>>();
  /** Files that were completed, which can be gone on with. */
  readonly finished = new Map<string, Finished>();

  /** The writers that all sinks of the worker share. */
  static of(context: SinkContext): Writers {
    return context.shared('file.writers', () => new Writers());
  }

  take(path: string, make: () => AnyWriter): AnyWriter {
    let entry = this.#byPath.get(path);
    if (entry === undefined) {
      entry = { writer: make(), users: 0 };
      this.#byPath.set(path, entry);
    }
    entry.users++;
    for (const known of this.finished.keys()) {
      if (this.finished.size <= mostFinished) break;
      this.finished.delete(known);
    }
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
