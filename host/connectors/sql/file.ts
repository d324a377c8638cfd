/** The file of a SQLite database. */
import type { AllowedPaths, PathUse } from '../../base/files/allowed-paths.js';
import { sqliteFile } from '../../clients/sql/address.js';

/** Throws a `config` error when the address names a file that may not be used so. */
export function checkFile(dburl: string, paths: AllowedPaths, use: PathUse): void {
  const file = sqliteFile(dburl);
  if (file !== undefined) paths.check(file, use);
}
