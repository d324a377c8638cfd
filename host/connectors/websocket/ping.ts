/** Tries a connection out. */
import { reasonOf } from '../../base/errors.js';
import { AllowedPaths } from '../../base/files/allowed-paths.js';
import type { ConnectionConf } from './connection.js';
import { endSocket, openSocket } from './socket.js';

export async function ping(conf: ConnectionConf): Promise<void> {
  // Clients come to the data server.
  if (conf.addr === '') return;
  try {
    await endSocket(await openSocket(conf, '', AllowedPaths.any()));
  } catch (error) {
    // The path comes with the DATASOURCE, so that there may be nothing yet.
    if (conf.path !== '' || !/server response: 40[04]$/.test(reasonOf(error))) throw error;
  }
}
