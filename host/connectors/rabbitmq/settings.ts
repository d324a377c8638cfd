/** What a connection of these connectors is made of. */
import type { AllowedPaths } from '../../base/files/allowed-paths.js';
import type { RabbitSecurity } from '../../clients/rabbitmq/client.js';
import { type RabbitConf, rabbitAddress, rabbitConnection } from '../../clients/rabbitmq/connection.js';
import type { RabbitSettings } from '../../clients/rabbitmq/pool.js';
import { connectionKey } from '../connection-key.js';
import { type TlsConf, tlsProps } from '../tls.js';
import { tlsOptions } from '../tls-options.js';

export interface RabbitConnectionConf extends RabbitConf, TlsConf {}

export function rabbitSettings(conf: RabbitConnectionConf, paths: AllowedPaths): RabbitSettings {
  const key = connectionKey({ ...rabbitConnection, ...tlsProps }, { ...conf });
  return { key, conf, security: () => rabbitSecurity(conf, paths) };
}

/** Certificates and keys, where the connection has TLS. */
export async function rabbitSecurity(conf: RabbitConnectionConf, paths: AllowedPaths): Promise<RabbitSecurity> {
  return rabbitAddress(conf).isSecure ? { ...(await tlsOptions('rabbitmq', conf, paths)) } : {};
}
