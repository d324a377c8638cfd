/** Functions of plugins, whatever kind they are of. */
import { HaumeaError, inContext } from '../base/errors.js';
import type { FunctionProvider } from './user-functions.js';

export class UdfService {
  readonly #providers: readonly FunctionProvider[];

  constructor(...providers: readonly FunctionProvider[]) {
    this.#providers = providers;
  }

  names(): string[] {
    return this.#all()
      .map(([name]) => name)
      .sort();
  }

  describe(name: string): { name: string; plugin: string } {
    return inContext('describe udf error', () => {
      const found = this.#all().find(([known]) => known === name);
      if (found === undefined) throw new HaumeaError('notFound', `function ${name} is not found`);
      return { name, plugin: found[1] };
    });
  }

  #all(): (readonly [string, string])[] {
    return this.#providers.flatMap((provider) => [...provider.functions()]);
  }
}
