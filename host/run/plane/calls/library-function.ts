/** A function of the engine that needs a package: it is called for all rows of a batch, several at once. */
import type { LookupAnswer } from '../../../../kernels/api.js';
import { type CarriedColumns, carriedValues } from '../../../../kernels/values/carried.js';
import { type Value, ValueError } from '../../../../kernels/values/value.js';
import { reasonOf } from '../../../base/errors.js';
import type { RowCode, UserFunction } from '../../../plugins/define.js';
import { loadLibrary } from '../../../plugins/library/load.js';

export class LibraryFunction {
  readonly owner: string;
  readonly #name: string;
  readonly #entry: string;
  readonly #code: Promise<RowCode>;

  constructor({ name, owner, entry, code }: UserFunction) {
    if (code.kind !== 'library') throw new Error(`function ${name} is of no library`);
    this.owner = owner;
    this.#name = name;
    this.#entry = entry;
    this.#code = loadLibrary(code);
    // Without a listener a rejection would end the process.
    this.#code.catch(() => {});
  }

  /** Resolves when its package is loaded; rejects with the reason when it does not load. */
  async ready(): Promise<void> {
    try {
      await this.#code;
    } catch (error) {
      throw new Error(`function ${this.#name}: ${reasonOf(error)}`);
    }
  }

  /** Calls it for all rows; what fails is an error in the place of its result. */
  async ask(args: CarriedColumns, field: string, signal: AbortSignal): Promise<LookupAnswer> {
    const code = await this.#code;
    const columns = carriedValues(args);
    const results = new Array<Value>(args.count).fill(null);
    let next = 0;
    const work = async () => {
      for (let row = next++; row < args.count && !signal.aborted; row = next++) {
        const at = row;
        try {
          results[at] = await code.call(
            this.#entry,
            columns.map((column) => column[at]),
          );
        } catch (error) {
          results[at] = new ValueError(`function ${this.#name}: ${reasonOf(error)}`);
        }
      }
    };
    await Promise.all(Array.from({ length: code.atOnce }, work));
    return { of: results.map((_, i) => i), columns: { [field]: results } };
  }

  /** It is never replaced: it comes with the engine. */
  replace(): void {}

  async close(): Promise<void> {
    (await this.#code.catch(() => undefined))?.close();
  }
}
