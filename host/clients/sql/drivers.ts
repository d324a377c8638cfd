/** The drivers, each loaded with the first database of its kind. */
import { reasonOf } from '../../base/errors.js';
import type { SqlKind } from './address.js';
import type { Driver } from './driver.js';
import { sqlClientErrors } from './errors.js';

const loaders: Readonly<Record<SqlKind, { readonly pack: string; load(): Promise<Driver> }>> = {
  postgres: { pack: 'pg', load: async () => (await import('./postgres.js')).postgres },
  mysql: { pack: 'mysql2', load: async () => (await import('./mysql.js')).mysqlDriver },
  sqlite: { pack: 'node-sqlite3-wasm', load: async () => (await import('./sqlite/driver.js')).sqlite },
  sqlserver: { pack: 'tedious', load: async () => (await import('./sqlserver.js')).loadSqlserver() },
};

/** Throws `config` when the package of the driver is missing. */
export async function driverOf(kind: SqlKind): Promise<Driver> {
  const { pack, load } = loaders[kind];
  try {
    return await load();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isMissing = code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND';
    if (isMissing && reasonOf(error).includes(pack)) throw sqlClientErrors.noPackage(kind, pack, { cause: error });
    throw error;
  }
}
