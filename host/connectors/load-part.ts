/** Loads the part of a connector that does the work when it is needed first, and tells which package it lacks. */
import { missingPackage } from '../base/program/missing-package.js';
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
        const missing = missingPackage(error, packages);
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
