/** Settings of a node of a cluster. */
import { field } from '../fields/field.js';

const keyBytes = 32;

export const cluster = {
  servers: field
    .string()
    .default('')
    .doc('Addresses of NATS, with commas between them; empty: the server is alone. `--cluster` sets it'),
  name: field
    .string()
    .default('haumea')
    .check((name) => (/^[A-Za-z0-9_-]{1,32}$/.test(name) ? undefined : 'must be letters, digits, _ and -, 32 at most'))
    .doc('Name of the cluster: its buckets and subjects begin with it'),
  node: field
    .string()
    .default('')
    .check((name) => (/^[A-Za-z0-9_.-]{0,64}$/.test(name) ? undefined : 'must be letters, digits, _, - and .'))
    .doc('Name of this node, another on each; empty is the name of the host with the REST port'),
  username: field.string().default('').doc('Name to log in to NATS with'),
  password: field.secret().default('').doc('Password to log in to NATS with'),
  token: field.secret().default('').doc('Token to log in to NATS with'),
  nkeySeed: field.secret().default('').doc('Seed of the nkey to log in to NATS with'),
  credentialsFile: field.string().default('').doc('Credentials file to log in to NATS with: JWT and seed of a user'),
  tls: field.object({
    caFile: field.string().default('').doc('Certificates of the authority of NATS (PEM)'),
    certFile: field.string().default('').doc('Certificate of this node (PEM)'),
    keyFile: field.string().default('').doc('Private key of this node (PEM)'),
  }),
  key: field
    .secret()
    .default('')
    .check((key) => (key === '' ? undefined : clusterKeyReason(key)))
    .doc('Key that encrypts definitions with secrets in NATS: 32 bytes in base64, the same on all nodes'),
  keyFile: field.string().default('').doc('File that holds `key`'),
  leaseTtl: field
    .duration()
    .min(2000)
    .max(60_000)
    .default(3000)
    .doc('Time without a sign of a node after which others run its rules, whole seconds'),
  replicas: field
    .int()
    .min(1)
    .max(5)
    .default(1)
    .doc('Servers of NATS that keep each bucket: 3 for a cluster of NATS; it counts when the buckets are made'),
};

/** Why a text is no key of a cluster; undefined when it is one. */
export function clusterKeyReason(key: string): string | undefined {
  const bytes = Buffer.from(key.trim(), 'base64');
  return bytes.length === keyBytes ? undefined : `must be ${keyBytes} bytes in base64, not ${bytes.length}`;
}
