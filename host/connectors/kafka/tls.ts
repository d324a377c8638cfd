/** TLS of connections to brokers. */
import type { AllowedPaths } from '../../base/files/allowed-paths.js';
import type { KafkaTls } from '../../clients/kafka/connection.js';
import type { TlsConf } from '../tls.js';
import { tlsOptions } from '../tls-options.js';

/** Reads the certificates; undefined when no property asks for TLS. */
export async function tlsOf(conf: TlsConf, paths: AllowedPaths): Promise<KafkaTls> {
  const { certificationPath, privateKeyPath, rootCaPath, certificationRaw, privateKeyRaw, rootCARaw } = conf;
  const names = [certificationPath, privateKeyPath, rootCaPath, certificationRaw, privateKeyRaw, rootCARaw];
  if (!conf.insecureSkipVerify && names.every((name) => name === '')) return undefined;
  return tlsOptions('kafka', conf, paths);
}
