/** Functions that plugins, services and scripts add to SQL: names are unique in any letter case. */
import { HaumeaError } from '../base/errors.js';
import type { Brought, UserFunction } from '../plugins/define.js';

/** Who brings functions, and which. */
export interface FunctionProvider {
  /** What its items are called in errors: `wasm plugin`. */
  readonly kind: string;
  /** Functions with the item that brings each. */
  functions(): Iterable<readonly [name: string, item: string]>;
  /** What rules run of a function; left out where nothing runs it yet. */
  runnable?(item: string, name: string): UserFunction | undefined;
}

export class UserFunctions {
  readonly #providers: FunctionProvider[] = [];
  readonly #builtIn: ReadonlySet<string>;

  /** `builtIn` holds the names that are taken, in lower case. */
  constructor(builtIn: Iterable<string>) {
    this.#builtIn = new Set(builtIn);
  }

  add(provider: FunctionProvider): void {
    this.#providers.push(provider);
  }

  /** Finds a function by its name in any letter case. */
  find(name: string): Brought | undefined {
    const wanted = name.toLowerCase();
    for (const provider of this.#providers) {
      for (const [known, item] of provider.functions()) {
        if (known.toLowerCase() !== wanted) continue;
        return { owner: `${provider.kind} ${item}`, run: provider.runnable?.(item, known) };
      }
    }
    return undefined;
  }

  /**
   * Throws when one of the names is given twice or taken by anything but `owner` (kind and name, as `find` has it).
   * With `isReset` everything that is there now will be gone.
   */
  checkFree(names: readonly string[], owner: string, isReset = false): void {
    const seen = new Set<string>();
    for (const name of names) {
      const key = name.toLowerCase();
      if (this.#builtIn.has(key)) throw taken(name, 'a built-in function');
      if (seen.has(key)) throw taken(name, `another function of ${owner}`);
      seen.add(key);
      const other = isReset ? undefined : this.find(name)?.owner;
      if (other !== undefined && other !== owner) throw taken(name, other);
    }
  }
}

function taken(name: string, by: string): HaumeaError {
  return new HaumeaError('general', `the function name ${name} is taken by ${by}`);
}
