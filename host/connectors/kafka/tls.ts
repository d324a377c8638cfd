/** TLS of connections to brokers. */
import type { AllowedPaths } from '../../base/files/allowed-paths.js';
import type { KafkaConf, KafkaTls } from '../../clients/kafka/connection.js';
import type { TlsConf } from '../tls.js';
import { tlsOptions } from '../tls-options.js';

/** How a client proves who it is, and knows the brokers: may change while a rule runs, from the next connection on. */
export const proofs = [
  'saslUserName',
  'password',
  'certificationPath',
  'privateKeyPath',
  'rootCaPath',
  'certificationRaw',
  'privateKeyRaw',
  'rootCARaw',
] as const satisfies readonly (keyof (KafkaConf & TlsConf))[];

/** The properties with proofs as they are now; unchecked, with the old name of the password. */
export function renewed<C extends KafkaConf & TlsConf>(conf: C, props: Readonly<Record<string, unknown>>): C {
  const all: Readonly<Record<string, unknown>> = { ...props, password: props.password ?? props.saslPassword };
  return { ...conf, ...Object.fromEntries(proofs.map((name) => [name, String(all[name] ?? '')])) };
}

/** Reads the certificates; undefined when no property asks for TLS. */
export async function tlsOf(conf: TlsConf, paths: AllowedPaths): Promise<KafkaTls> {
  const { certificationPath, privateKeyPath, rootCaPath, certificationRaw, privateKeyRaw, rootCARaw } = conf;
  const names = [certificationPath, privateKeyPath, rootCaPath, certificationRaw, privateKeyRaw, rootCARaw];
  if (!conf.insecureSkipVerify && names.every((name) => name === '')) return undefined;
  return tlsOptions('kafka', conf, paths);
}
