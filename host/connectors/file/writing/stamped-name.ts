/** Names of files that have the time in them. */
import { basename, dirname, extname, join } from 'node:path';

export function stampedName(path: string, stamp: number, isPrefix: boolean): string {
  const extension = extname(path);
  const name = basename(path, extension);
  return join(dirname(path), isPrefix ? `${stamp}-${name}${extension}` : `${name}-${stamp}${extension}`);
}
