/** Functions that plugins, services and scripts add to SQL: names are unique in any letter case. */
import type { HaumeaError } from '../../base/errors.js';
import type { Brought, UserFunction } from '../../plugins/define.js';
import { installErrors } from '../errors/installed.js';

/** A kind of resource whose items bring functions. */
export interface FunctionProvider {
  /** Noun for items of the provider in errors: `wasm plugin`. */
  readonly kind: string;
  /** Changes whenever the functions do. */
  readonly version: number;
  /** Functions with the item that brings each. */
  functions(): Iterable<readonly [name: string, item: string]>;
  /** The function as rules call it; left out for kinds that can't be called. */
  runnable?(item: string, name: string): UserFunction | undefined;
}

/** Functions of a provider by lower-case name, at one version. */
interface Index {
  readonly provider: FunctionProvider;
  version: number | undefined;
  byName: ReadonlyMap<string, readonly [name: string, item: string]>;
}

export class UserFunctions {
  readonly #indexes: Index[] = [];
  readonly #builtIn: ReadonlySet<string>;

  /** @param builtIn names of built-in functions in lower case */
  constructor(builtIn: Iterable<string>) {
    this.#builtIn = new Set(builtIn);
  }

  add(provider: FunctionProvider): void {
    this.#indexes.push({ provider, version: undefined, byName: new Map() });
  }

  /** Finds a function by its name in any letter case. */
  find(name: string): Brought | undefined {
    const found = this.#itemOf(name);
    if (found === undefined) return undefined;
    const { provider, known, item } = found;
    return { owner: `${provider.kind} ${item}`, run: provider.runnable?.(item, known) };
  }

  /** Names of all functions. */
  names(): string[] {
    return this.#indexes.flatMap(({ provider }) => [...provider.functions()].map(([name]) => name));
  }

  #itemOf(name: string): { provider: FunctionProvider; known: string; item: string } | undefined {
    const wanted = name.toLowerCase();
    for (const index of this.#indexes) {
      const { provider } = index;
      const { version } = provider;
      if (index.version !== version) {
        index.byName = new Map([...provider.functions()].map((pair) => [pair[0].toLowerCase(), pair] as const));
        index.version = version;
      }
      const found = index.byName.get(wanted);
      if (found !== undefined) return { provider, known: found[0], item: found[1] };
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
      const other = isReset ? undefined : this.#itemOf(name);
      if (other === undefined) continue;
      const by = `${other.provider.kind} ${other.item}`;
      if (by !== owner) throw taken(name, by);
    }
  }
}

function taken(name: string, by: string): HaumeaError {
  return installErrors.functionTaken(name, by);
}
