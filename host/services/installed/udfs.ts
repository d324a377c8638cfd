/** Functions of plugins, whatever kind they are of. */
import { inContext } from '../../base/errors.js';
import { installErrors } from '../errors/installed.js';
import type { FunctionProvider } from './user-functions.js';

export interface Udf {
  readonly name: string;
  readonly plugin: string;
}

export class UdfService {
  readonly #providers: readonly FunctionProvider[];

  constructor(...providers: readonly FunctionProvider[]) {
    this.#providers = providers;
  }

  names(): string[] {
    return this.list().map(({ name }) => name);
  }

  /** All functions with the plugins that bring them and their kinds (`wasm plugin`), by name. */
  list(): (Udf & { readonly kind: string })[] {
    const all = this.#providers.flatMap((provider) =>
      [...provider.functions()].map(([name, plugin]) => ({ name, plugin, kind: provider.kind })),
    );
    return all.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The plugin of a function, by its name in any letter case. */
  describe(wanted: string): Udf {
    return inContext('describe udf error', () => {
      const key = wanted.toLowerCase();
      const found = this.list().find(({ name }) => name.toLowerCase() === key);
      if (found === undefined) throw installErrors.functionMissing(wanted);
      return { name: found.name, plugin: found.plugin };
    });
  }
}
