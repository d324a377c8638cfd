/** Tries a connection to a database out. */
import { AllowedPaths } from '../../base/files/allowed-paths.js';
import { pingDatabase } from '../../clients/sql/database.js';
import { connectorErrors } from '../errors.js';
import { type SqlConf, sqlSettings } from './settings.js';

export async function ping({ dburl, ...conf }: Omit<SqlConf, 'dburl'> & { dburl?: string | undefined }): Promise<void> {
  if (dburl === undefined) throw connectorErrors.props('sql connection', 'dburl is required');
  await pingDatabase(sqlSettings({ ...conf, dburl }, AllowedPaths.any()));
}
