/** Functions that plugins, services and scripts add to SQL: names are unique in any letter case. */
import { HaumeaError } from '../base/errors.js';

/** Who brings functions, and which. */
export interface FunctionProvider {
  /** What its items are called in errors: `wasm plugin`. */
  readonly kind: string;
  /** Functions with the item that brings each. */
  functions(): Iterable<readonly [name: string, item: string]>;
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

  /** Says who brings a function: `service shop`; undefined when nobody does. */
  ownerOf(name: string): string | undefined {
    const wanted = name.toLowerCase();
    for (const provider of this.#providers) {
      for (const [known, item] of provider.functions()) {
        if (known.toLowerCase() === wanted) return `${provider.kind} ${item}`;
      }
    }
    return undefined;
  }

  /**
   * Throws when one of the names is given twice or taken by anything but `owner` (kind and name, as of `ownerOf`).
   * With `isReset` everything that is there now will be gone.
   */
  checkFree(names: readonly string[], owner: string, isReset = false): void {
    const seen = new Set<string>();
    for (const name of names) {
      const key = name.toLowerCase();
      if (this.#builtIn.has(key)) throw taken(name, 'a built-in function');
      if (seen.has(key)) throw taken(name, `another function of ${owner}`);
      seen.add(key);
      const other = isReset ? undefined : this.ownerOf(name);
      if (other !== undefined && other !== owner) throw taken(name, other);
    }
  }
}

function taken(name: string, by: string): HaumeaError {
  return new HaumeaError('general', `the function name ${name} is taken by ${by}`);
}
