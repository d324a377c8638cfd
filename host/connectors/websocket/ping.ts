/** Tries a connection out. */
import { AllowedPaths } from '../../base/files/allowed-paths.js';
import type { ConnectionConf } from './connection.js';
import { endSocket, openSocket } from './socket.js';

export async function ping(conf: ConnectionConf): Promise<void> {
  // Clients come to the data server.
  if (conf.addr === '') return;
  await endSocket(await openSocket(conf, '', AllowedPaths.any()));
}
