/** Tries a connection out. */
import { AllowedPaths } from '../../base/files/allowed-paths.js';
import { pingRabbit } from '../../clients/rabbitmq/client.js';
import { type RabbitConnectionConf, rabbitSecurity } from './settings.js';

/** Connects once and disconnects; throws the reason when the server does not answer. */
export async function ping(conf: RabbitConnectionConf): Promise<void> {
  await pingRabbit(conf, await rabbitSecurity(conf, AllowedPaths.any()));
}
