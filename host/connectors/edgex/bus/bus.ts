/** The message bus of EdgeX, whatever it is made of. None connects again by itself. */
import type { AllowedPaths } from '../../../base/files/allowed-paths.js';
import type { EdgexConf } from './connection.js';
import type { EdgexBus } from './form.js';

/** Connects; `lost` is called once with the reason when the connection is lost. */
export async function openBus(conf: EdgexConf, paths: AllowedPaths, lost: (reason: string) => void): Promise<EdgexBus> {
  if (conf.type === 'redis') return (await import('./redis-bus.js')).openRedisBus(conf, paths, lost);
  if (conf.type === 'mqtt') return (await import('./mqtt-bus.js')).openMqttBus(conf, paths, lost);
  return (await import('./nats-bus.js')).openNatsBus(conf, paths, lost);
}
