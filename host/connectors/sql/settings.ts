/** What a connection to a database is made of. */
import type { AllowedPaths } from '../../base/files/allowed-paths.js';
import { type DatabaseConf, type SharedDatabase, SqlDatabases } from '../../clients/sql/database.js';
import { connectionKey } from '../connection-key.js';
import { namesTls, type TlsConf, tlsProps } from '../tls.js';
import { tlsOptions } from '../tls-options.js';

export interface SqlConf extends Omit<DatabaseConf, 'security'>, TlsConf {}

interface Context {
  readonly paths: AllowedPaths;
  shared<T>(key: string, make: () => T): T;
}

export function sqlSettings(conf: SqlConf, paths: AllowedPaths): DatabaseConf {
  const { dburl, timeout } = conf;
  const key = connectionKey(tlsProps, { ...conf });
  return { dburl, timeout, security: { key, isNamed: namesTls(conf), read: () => tlsOptions('sql', conf, paths) } };
}

/** The database of the properties; who takes it gives it back. */
export function takeDatabase(conf: SqlConf, context: Context, isReader = false): SharedDatabase {
  const most = context.shared('sql.maxConnections', () => 0);
  const databases = context.shared('sql.databases', () => new SqlDatabases(most));
  return databases.take(sqlSettings(conf, context.paths), isReader);
}
