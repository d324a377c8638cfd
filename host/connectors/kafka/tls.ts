/** TLS of connections to brokers. */
import type { AllowedPaths } from '../../base/files/allowed-paths.js';
import type { KafkaTls } from '../../clients/kafka/connection.js';
import { namesTls, type TlsConf } from '../tls.js';
import { tlsOptions } from '../tls-options.js';

/** Reads the certificates; undefined when no property asks for TLS. */
export async function tlsOf(conf: TlsConf, paths: AllowedPaths): Promise<KafkaTls> {
  return namesTls(conf) ? tlsOptions('kafka', conf, paths) : undefined;
}
