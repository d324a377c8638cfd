/** Tries a connection out. */
import { AllowedPaths } from '../../base/files/allowed-paths.js';
import { pingNats } from '../../clients/nats/client.js';
import { type NatsConnectionConf, natsSecurity } from './settings.js';

/** Connects once and disconnects; throws the reason when the server does not answer. */
export async function ping(conf: NatsConnectionConf): Promise<void> {
  await pingNats(conf, await natsSecurity(conf, AllowedPaths.any()));
}
