/** Streams, or tables, as exports and imports see them: names with their statements. */

import { SourceRepository } from '../definitions/sources.js';
import type { StoreChange } from '../store.js';
import { transferErrors } from './errors.js';
import type { Exportable, Prepared } from './exportable.js';

export class SourceItems implements Exportable {
  readonly #sources: SourceRepository;
  readonly #target: 'stream' | 'table';

  constructor(sources: SourceRepository, target: 'stream' | 'table') {
    this.#sources = sources;
    this.#target = target;
  }

  /** Statements of the definitions, without temporary and unreadable ones. */
  export(): Record<string, string> {
    const entries = this.#sources.names(this.#target).flatMap((name): [string, string][] => {
      try {
        const source = this.#sources.get(name);
        return source === undefined || source.definition.options.temp ? [] : [[name, source.statement]];
      } catch {
        return [];
      }
    });
    return Object.fromEntries(entries);
  }

  check(name: string, value: string, isReset: boolean): Prepared {
    const source = SourceRepository.read(value);
    const { kind, options, name: stated } = source.definition;
    if (kind !== this.#target || stated !== name) {
      throw transferErrors.otherSource(kind, stated, this.#target, name);
    }
    if (options.temp) throw transferErrors.temporary(kind, name);
    if (!isReset) this.#sources.checkReplaces(source);
    return { changes: [this.#sources.change(source)], apply: () => this.#sources.onChange(name) };
  }

  clear(kept: ReadonlySet<string>): Prepared {
    const gone = this.#sources.names(this.#target).filter((name) => !kept.has(name));
    return {
      changes: gone.map((name): StoreChange => this.#sources.removal(name)),
      apply: async () => {
        this.#sources.forgetTemporary(gone);
        for (const name of gone) await this.#sources.onChange(name);
      },
    };
  }
}
