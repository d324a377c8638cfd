/** Tries a connection out. */
import { connectOnce, endClient, makeClient } from './client.js';
import type { ConnectionConf } from './connection.js';

/** Connects once and disconnects; throws the reason when the broker does not answer. */
export async function ping(conf: ConnectionConf): Promise<void> {
  // A client id of its own: the broker would end the session of a rule with the same one.
  const { client } = await makeClient({ ...conf, clientid: '' }, { clean: true }, () => undefined);
  try {
    await connectOnce(client);
  } finally {
    await endClient(client);
  }
}
