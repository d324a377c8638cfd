/** Says which package an import did not find: one that is missing, or is there but lacks what it needs itself. */
import { reasonOf } from '../errors.js';

/** @param packages packages that may be missing, by the names they are installed under */
export function missingPackage(error: unknown, packages: readonly string[]): string | undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') return undefined;
  const reason = reasonOf(error);
  return packages.find((name) => reason.includes(`'${name}'`) || reason.includes(`/${name}/`));
}
