/** The properties of a connection to a broker. */
import { field, type Parsed } from '../../base/fields/field.js';
import { tlsProps } from '../tls.js';

export const connection = {
  server: field
    .address()
    .alias('url', 'servers')
    .default('tcp://127.0.0.1:1883')
    .check(serverReason)
    .doc('Address of the broker: tcp://host:port, or ssl://host:port with TLS'),
  username: field.string().default('').doc('Name to log in with'),
  password: field.secret().default('').doc('Password to log in with'),
  protocolVersion: field
    .string()
    .oneOf('3.1', '3.1.1', '4', '5')
    .default('3.1.1')
    .doc('Version of the protocol: 3.1.1 (or 4) or 5'),
  clientid: field.string().default('').doc('Client id; empty makes a new one'),
  ...tlsProps,
  keepAlive: field.duration().min(1000).default(60_000).doc('Longest silence before the connection is checked'),
};

/**
 * How a client proves who it is, and knows the broker: may change while a connection is down, and stays the same
 * connection.
 */
export const proofs = [
  'username',
  'password',
  'certificationPath',
  'privateKeyPath',
  'rootCaPath',
  'certificationRaw',
  'privateKeyRaw',
  'rootCARaw',
] as const satisfies readonly (keyof typeof connection)[];

export type ConnectionConf = Parsed<typeof connection>;

/** Protocol level of a version as configured. */
export function protocolLevel(version: string): 3 | 4 | 5 {
  return version === '5' ? 5 : version === '3.1' ? 3 : 4;
}

function serverReason(server: string): string | undefined {
  const known = ['tcp:', 'mqtt:', 'ssl:', 'tls:', 'mqtts:'];
  try {
    const url = new URL(server.includes('://') ? server : `tcp://${server}`);
    if (!known.includes(url.protocol)) return `must begin with one of ${known.map((name) => `${name}//`).join(', ')}`;
    return url.hostname === '' ? 'has no host' : undefined;
  } catch {
    return 'must be an address such as tcp://host:1883';
  }
}
