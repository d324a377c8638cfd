/** Packages that few servers need: reading their code at every start would make all of them slower. */
import { createRequire } from 'node:module';

/**
 * Gives a package that is read at the first call. The build names it among those it leaves in node_modules
 * (`tools/build.mjs`).
 */
export function latePackage<T>(name: string): () => T {
  let loaded: T | undefined;
  return () => {
    loaded ??= createRequire(import.meta.url)(name) as T;
    return loaded;
  };
}
