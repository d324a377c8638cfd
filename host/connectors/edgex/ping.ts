/** Tries a message bus out. */
import { AllowedPaths } from '../../base/files/allowed-paths.js';
import { openBus } from './bus/bus.js';
import type { EdgexConf } from './bus/connection.js';

export async function ping(conf: EdgexConf): Promise<void> {
  await (await openBus(conf, AllowedPaths.any(), () => {})).close();
}
