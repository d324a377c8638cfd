/** What a connection of these connectors is made of. */
import type { AllowedPaths } from '../../base/files/allowed-paths.js';
import type { NatsSecurity } from '../../clients/nats/client.js';
import { type NatsConf, natsConnection, serversOf } from '../../clients/nats/connection.js';
import type { NatsSettings } from '../../clients/nats/pool.js';
import { connectionKey } from '../connection-key.js';
import { namesTls, type TlsConf, tlsProps } from '../tls.js';
import { tlsOptions } from '../tls-options.js';

export interface NatsConnectionConf extends NatsConf, TlsConf {}

export function natsSettings(conf: NatsConnectionConf, paths: AllowedPaths): NatsSettings {
  const key = connectionKey({ ...natsConnection, ...tlsProps }, { ...conf });
  return { key, conf, security: () => natsSecurity(conf, paths) };
}

/** Certificates and keys; undefined where the properties name none, so that the server decides whether there is TLS. */
export async function natsSecurity(conf: NatsConnectionConf, paths: AllowedPaths): Promise<NatsSecurity> {
  const isWanted = namesTls(conf) || serversOf(conf.server).some((server) => server.startsWith('tls://'));
  return isWanted ? tlsOptions('nats', conf, paths) : undefined;
}

/** The servers, whatever the connection is otherwise. */
export function natsPeer({ server }: NatsConf): string {
  return `nats ${serversOf(server).join(',')}`;
}
