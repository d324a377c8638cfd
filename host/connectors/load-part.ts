/** Loads the part of a connector that does the work when it is needed first, and tells which package it lacks. */
import { reasonOf } from '../base/errors.js';
import { connectorErrors } from './errors.js';

export interface LoadedPart<M> {
  /** Loads the part; throws HaumeaError `config` that names the missing package. */
  load(): Promise<void>;
  /** Returns what `load` has loaded. */
  make(): M;
}

/** @param packages packages that may be missing, by the names they are installed under */
export function loadPart<M>(what: string, packages: readonly string[] = [], load: () => Promise<M>): LoadedPart<M> {
  let made: M | undefined;
  return {
    async load() {
      if (made !== undefined) return;
      try {
        made = await load();
      } catch (error) {
        const missing = missingOf(error, packages);
        if (missing === undefined) throw error;
        throw connectorErrors.noPackage(what, missing, { cause: error });
      }
    },
    make() {
      if (made === undefined) throw new Error(`the ${what} is not loaded`);
      return made;
    },
  };
}

/** The package that an import did not find: one that is missing, or is there but lacks what it needs itself. */
function missingOf(error: unknown, packages: readonly string[]): string | undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') return undefined;
  const reason = reasonOf(error);
  return packages.find((name) => reason.includes(`'${name}'`) || reason.includes(`/${name}/`));
}
