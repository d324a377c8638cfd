/** How a client proves who it is, and knows the brokers: may change while a rule runs, from the next connection on. */
import type { KafkaConf } from '../../clients/kafka/connection.js';
import type { TlsConf } from '../tls.js';

const proofs = [
  'saslUserName',
  'password',
  'certificationPath',
  'privateKeyPath',
  'rootCaPath',
  'certificationRaw',
  'privateKeyRaw',
  'rootCARaw',
] as const satisfies readonly (keyof (KafkaConf & TlsConf))[];

/** Names of the properties, with the old one of the password. */
export const kafkaProofs: readonly string[] = [...proofs, 'saslPassword'];

/** The properties with proofs as they are now; unchecked, with the old name of the password. */
export function renewed<C extends KafkaConf & TlsConf>(conf: C, props: Readonly<Record<string, unknown>>): C {
  const all: Readonly<Record<string, unknown>> = { ...props, password: props.password ?? props.saslPassword };
  return { ...conf, ...Object.fromEntries(proofs.map((name) => [name, String(all[name] ?? '')])) };
}
