/** Tries a message bus out. */
import { AllowedPaths } from '../../base/files/allowed-paths.js';
import { openBus } from './bus/bus.js';
import type { EdgexConf } from './bus/connection.js';

export async function ping(conf: EdgexConf): Promise<void> {
  // A client id of its own: a broker would end the connection of a rule with the same one.
  const own = { ...conf, optional: { ...conf.optional, ClientId: '' } };
  await (await openBus(own, AllowedPaths.any(), () => {})).close();
}
