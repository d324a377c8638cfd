/** What a connection of the connectors of Redis is made of, and how it is tried out. */
import { AllowedPaths } from '../../base/files/allowed-paths.js';
import { isSecureRedis } from '../../clients/redis/address.js';
import { pingRedis } from '../../clients/redis/client.js';
import type { RedisConf } from '../../clients/redis/connection.js';
import { connectionKey } from '../connection-key.js';
import { type TlsConf, tlsProps } from '../tls.js';
import { tlsOptions } from '../tls-options.js';

export type RedisConnectionConf = RedisConf & TlsConf;

/** The settings, with what reads the certificates where the address asks for TLS. */
export function redisSettings(conf: RedisConnectionConf, paths: AllowedPaths): RedisConf {
  const { addr, username, password, db } = conf;
  const settings = { addr, username, password, db };
  if (!isSecureRedis(addr)) return settings;
  const key = connectionKey(tlsProps, { ...conf });
  return { ...settings, security: { key, read: () => tlsOptions('redis', conf, paths) } };
}

/** Connects once and disconnects; throws the reason when the server does not answer. */
export async function ping(conf: Omit<RedisConnectionConf, 'db'>): Promise<void> {
  await pingRedis(redisSettings({ ...conf, db: 0 }, AllowedPaths.any()));
}

/** As `ping`, for connectors whose property for the address has another name. */
export async function pingAddress(conf: Omit<RedisConnectionConf, 'addr'> & { address: string }): Promise<void> {
  await pingRedis(redisSettings({ ...conf, addr: conf.address }, AllowedPaths.any()));
}
